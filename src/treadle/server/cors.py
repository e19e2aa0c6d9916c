"""Pages elsewhere that may call this server: an ASGI layer around all others. Only those that were named, only what programs ask
for, and never by a browser's session: such a page shows a token, as a program does.
"""

import re
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.core.errors import SettingsError

PATHS = ("/api", "/v1")  # and all below them
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
AN_HOUR = "3600"  # seconds for which a browser need not ask again
READABLE = "retry-after, www-authenticate, x-request-id, request-id, x-should-retry"  # what official clients look for

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_NAMES = re.compile(r"[A-Za-z0-9_, -]{0,1000}")


def origin_of(words: str) -> str:
    """An origin as browsers write it; a sentence where it is none."""
    origin = words.strip().lower().rstrip("/")
    if not _ORIGIN.fullmatch(origin):
        raise SettingsError(f"{words!r} is no origin; write it as https://example.org or http://localhost:3000, without a path.")
    return origin


class Cors:
    """Answers what browsers ask before they let a page call, and says in each answer which page may read it.

    What such a page sends is marked in the scope as `foreign`.
    """

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer."""
        if scope["type"] != "http" or not _is_callable(scope["path"]):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        if origin.lower() not in self._origins:
            return await self._app(scope, receive, _told(send))
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            return await Response(status_code=204, headers=_may(headers))(scope, receive, _told(send, origin))
        scope["foreign"] = origin
        return await self._app(scope, receive, _told(send, origin))


def _is_callable(path: str) -> bool:
    return any(path == allowed or path.startswith(f"{allowed}/") for allowed in PATHS)


def _may(headers: Headers) -> dict[str, str]:
    """What such a page may send: any method, and the headers that it asks about."""
    wanted = headers.get("access-control-request-headers", "")
    names = wanted if _NAMES.fullmatch(wanted) else ""
    return {
        "access-control-allow-methods": METHODS,
        "access-control-allow-headers": names or "authorization, content-type",
        "access-control-max-age": AN_HOUR,
    }


def _told(send: Send, origin: str = "") -> Send:
    """Answers that say that they are for this origin alone; none where it is empty."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Origin")
            if origin:
                headers["access-control-allow-origin"] = origin
                headers["access-control-expose-headers"] = READABLE
        await send(message)

    return sending
