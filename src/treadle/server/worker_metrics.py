"""Metrics of a worker over HTTP: `GET /metrics`, and nothing else. It has no token, so it listens on this machine by default."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from treadle.core.errors import SettingsError
from treadle.server.metrics import CONTENT_TYPE, ServerMetrics, collect_metrics, format_prometheus

MAX_REQUEST = 8192  # bytes
PATIENCE = 10.0  # seconds that a client has to send its request


def parse_metrics_address(typed: str) -> tuple[str, int]:
    """Return the host and the port of a typed address: `9464`, `0.0.0.0:9464` or `[::1]:9464`."""
    host, _, port = typed.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise SettingsError(f"{typed!r} is no address for metrics; write a port such as 9464, or 0.0.0.0:9464.")
    return host.strip("[]") or "127.0.0.1", int(port)


@asynccontextmanager
async def serve_metrics(figures: ServerMetrics, host: str, port: int) -> AsyncGenerator[tuple[str, int]]:
    """Serve metrics; yield where. Port 0 picks a free one."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await _respond_to(figures, head.split(b"\r\n", 1)[0].split()))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(respond, host, port, limit=MAX_REQUEST)
    except OSError as error:
        raise SettingsError(f"Metrics can't be served at {host}:{port}: {error.strerror or error}.") from error
    async with server:
        yield server.sockets[0].getsockname()[:2]


async def _respond_to(figures: ServerMetrics, line: list[bytes]) -> bytes:
    if line[:2] == [b"GET", b"/metrics"]:
        return _format_response("200 OK", CONTENT_TYPE, format_prometheus(await collect_metrics(figures)))
    return _format_response("404 Not Found", "text/plain", "Metrics are at /metrics.\n")


def _format_response(status: str, kind: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return head.encode() + body
