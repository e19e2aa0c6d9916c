"""The access log: a line for each request, with user, method, path, status and duration.

Query strings aren't logged, as they may contain secrets. It is the logger `treadle.access`; `treadle serve
--access-log` shows it. Each record has its values as `fields`, for logs in JSON.
"""

import logging
from time import perf_counter
from typing import Any
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
            fields = _describe_request(scope, status, perf_counter() - began)
            access_logger.info("%s", _format_line(fields), extra={"fields": fields})


def _describe_request(scope: Scope, status: int, seconds: float) -> dict[str, Any]:
    """Return the values of a request; the status is None where the client has disconnected before."""
    person: User | None = scope.get("person")
    return {
        "address": scope["client"][0] if scope.get("client") else "",
        "user": person.name if person is not None else "",
        "method": scope["method"],
        "path": quote(scope["path"]),
        "status": status or None,
        "seconds": round(seconds, 4),
    }


def _format_line(fields: dict[str, Any]) -> str:
    seconds, status = fields["seconds"], fields["status"] or "left"
    return (
        f"{fields['address'] or '-'} {fields['user'] or '-'} {fields['method']} {fields['path']} {status} {seconds * 1000:.0f} ms"
    )
