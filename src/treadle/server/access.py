"""The access log: a line for each request, with who asked, what for, how it was answered and how long that took.

Queries aren't in it, as they may hold secrets. It is the logger `treadle.access`; `treadle serve --access-log` shows it.
"""

import logging
from time import perf_counter
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.stores.people import Person

NAME = "treadle.access"
access = logging.getLogger(NAME)


class AccessLog:
    """An ASGI layer that logs each request once its response is complete, or its client has left."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and log."""
        if scope["type"] != "http" or not access.isEnabledFor(logging.INFO):
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
            access.info("%s", _line(scope, status, perf_counter() - began))


def _line(scope: Scope, status: int, seconds: float) -> str:
    person: Person | None = scope.get("person")
    who = person.name if person is not None and person.name else "-"
    address = scope["client"][0] if scope.get("client") else "-"
    return f"{address} {who} {scope['method']} {quote(scope['path'])} {status or 'left'} {seconds * 1000:.0f} ms"
