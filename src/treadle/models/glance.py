"""A short look at a server: what it says at a path, or nothing. Whoever looks does without an answer.

It doesn't take the HTTP library, which takes longer to import than this takes to ask.
"""

import asyncio
from urllib.parse import SplitResult, urlsplit


async def glance(address: str, path: str, *, body: bytes = b"", key: str = "", seconds: float = 0.5) -> bytes | None:
    """What is there, if it is: asked with POST where there is a body, else with GET."""
    try:
        async with asyncio.timeout(seconds):
            head, _, said = (await _asked(urlsplit(address), path, body, key)).partition(b"\r\n\r\n")
    except (OSError, ValueError):  # a time-out is an OSError too; a port may be no number
        return None
    return said if b" 200 " in head.partition(b"\r\n")[0] else None


async def _asked(address: SplitResult, path: str, body: bytes, key: str) -> bytes:
    tls = address.scheme == "https"
    reader, writer = await asyncio.open_connection(address.hostname, address.port or (443 if tls else 80), ssl=tls or None)
    try:
        writer.write(_request(address, path, body, key))
        return await reader.read()
    finally:
        writer.close()


def _request(address: SplitResult, path: str, body: bytes, key: str) -> bytes:
    lines = [f"{'POST' if body else 'GET'} {address.path}{path} HTTP/1.0", f"host: {address.netloc.rpartition('@')[2]}"]
    if key:
        lines.append(f"authorization: Bearer {key}")
    if body:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body  # 1.0 ends with the connection
