"""A short probe of a server: returns the response body at a path, or None. Callers must work without an answer.

It doesn't use the HTTP library, which takes longer to import than this takes to ask.
"""

import asyncio
from urllib.parse import SplitResult, urlsplit


async def probe_server(address: str, path: str, *, body: bytes = b"", key: str = "", seconds: float = 0.5) -> bytes | None:
    """Return the response body, or None: sent as POST if there is a body, else as GET."""
    try:
        async with asyncio.timeout(seconds):
            head, _, said = (await _send(urlsplit(address), path, body, key)).partition(b"\r\n\r\n")
    except (OSError, ValueError):  # a time-out is an OSError too; a port may be no number
        return None
    return said if b" 200 " in head.partition(b"\r\n")[0] else None


async def _send(address: SplitResult, path: str, body: bytes, key: str) -> bytes:
    tls = address.scheme == "https"
    reader, writer = await asyncio.open_connection(address.hostname, address.port or (443 if tls else 80), ssl=tls or None)
    try:
        writer.write(_encode_request(address, path, body, key))
        return await reader.read()
    finally:
        writer.close()


def _encode_request(address: SplitResult, path: str, body: bytes, key: str) -> bytes:
    lines = [f"{'POST' if body else 'GET'} {address.path}{path} HTTP/1.0", f"host: {address.netloc.rpartition('@')[2]}"]
    if key:
        lines.append(f"authorization: Bearer {key}")
    if body:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body  # 1.0 ends with the connection
