"""Metrics of a worker over HTTP: `GET /metrics`, and nothing else. It has no token, so it listens on this machine by default."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from treadle.core.errors import SettingsError
from treadle.server.metrics import CONTENT_TYPE, ServerMetrics, collect_metrics, format_prometheus


def parse_metrics_address(typed: str) -> tuple[str, int]:
    """Return the host and the port of a typed address: `9464`, `0.0.0.0:9464` or `[::1]:9464`."""
    host, _, port = typed.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise SettingsError(f"{typed!r} is no address for metrics; write a port such as 9464, or 0.0.0.0:9464.")
    return host.strip("[]") or "127.0.0.1", int(port)


@asynccontextmanager
async def serve_metrics(figures: ServerMetrics, host: str, port: int) -> AsyncGenerator[tuple[str, int]]:
    """Serve metrics; yield where. Port 0 picks a free one."""
    from aiohttp import web

    async def respond(_: web.Request) -> web.Response:
        return web.Response(body=format_prometheus(await collect_metrics(figures)).encode(), headers={"content-type": CONTENT_TYPE})

    app = web.Application()
    app.router.add_get("/metrics", respond)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise SettingsError(f"Metrics can't be served at {host}:{port}: {error.strerror or error}.") from error
        yield runner.addresses[0][:2]
    finally:
        await runner.cleanup()
