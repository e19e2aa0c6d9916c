"""The access log: a line for each request, with user, method, path, status and duration.

Query strings aren't logged, as they may contain secrets. It is the logger `treadle.access`; `treadle serve
--access-log` shows it.
"""

import logging
from time import perf_counter
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.stores.accounts import User

LOGGER_NAME = "treadle.access"
access_logger = logging.getLogger(LOGGER_NAME)


class AccessLogMiddleware:
    """ASGI middleware that logs each request once its response is complete, or its client has disconnected."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log it."""
        if scope["type"] != "http" or not access_logger.isEnabledFor(logging.INFO):
            return await self._app(scope, receive, send)
        began, status = perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            access_logger.info("%s", _format_line(scope, status, perf_counter() - began))


def _format_line(scope: Scope, status: int, seconds: float) -> str:
    person: User | None = scope.get("person")
    who = person.name if person is not None and person.name else "-"
    address = scope["client"][0] if scope.get("client") else "-"
    return f"{address} {who} {scope['method']} {quote(scope['path'])} {status or 'left'} {seconds * 1000:.0f} ms"
