"""CORS middleware, outside of all others.

Only configured origins, only the APIs, and never with a browser's session: such a page sends a token, as an API
client does.
"""

import re
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.core.errors import SettingsError

PATHS = ("/api", "/v1")  # and all below them
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
MAX_AGE = "3600"  # seconds for which a browser need not ask again
EXPOSED_HEADERS = "retry-after, www-authenticate, x-request-id, request-id, x-should-retry"  # what official clients look for

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_NAMES = re.compile(r"[A-Za-z0-9_, -]{0,1000}")


def parse_cors_origin(words: str) -> str:
    """Parse an origin as browsers write it; raise with a sentence where it is invalid."""
    origin = words.strip().lower().rstrip("/")
    if not _ORIGIN.fullmatch(origin):
        raise SettingsError(f"{words!r} is no origin; write it as https://example.org or http://localhost:3000, without a path.")
    return origin


class CorsMiddleware:
    """ASGI middleware that answers preflight requests, and says in each response which origin may read it.

    Requests of such pages are marked in the scope as `foreign`.
    """

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight request, or pass the request on."""
        if scope["type"] != "http" or not _is_cors_path(scope["path"]):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        if origin.lower() not in self._origins:
            return await self._app(scope, receive, _add_cors_headers(send))
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            return await Response(status_code=204, headers=_preflight_headers(headers))(
                scope, receive, _add_cors_headers(send, origin)
            )
        scope["foreign"] = origin
        return await self._app(scope, receive, _add_cors_headers(send, origin))


def _is_cors_path(path: str) -> bool:
    return any(path == allowed or path.startswith(f"{allowed}/") for allowed in PATHS)


def _preflight_headers(headers: Headers) -> dict[str, str]:
    """Return the preflight headers: any method, and the headers that the request asks about."""
    wanted = headers.get("access-control-request-headers", "")
    names = wanted if _NAMES.fullmatch(wanted) else ""
    return {
        "access-control-allow-methods": METHODS,
        "access-control-allow-headers": names or "authorization, content-type",
        "access-control-max-age": MAX_AGE,
    }


def _add_cors_headers(send: Send, origin: str = "") -> Send:
    """Wrap `send` to allow this origin alone to read the response; none where it is empty."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Origin")
            if origin:
                headers["access-control-allow-origin"] = origin
                headers["access-control-expose-headers"] = EXPOSED_HEADERS
        await send(message)

    return sending
