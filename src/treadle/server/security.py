"""Security middleware around everything else: which requests are accepted, and the security headers of responses.

A page of another site, open in the same browser, can send requests here. It is stopped because a request has to
name this server as its `Host` (against DNS rebinding), because a request that changes something has to come from
one of our own pages, and because only JSON is accepted, which a foreign page can't send without a preflight
request.
"""

from collections.abc import Sequence
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.server.compat.errors import is_compat_path
from treadle.server.errors import error_response, is_api_path, is_json_content_type

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
DEFAULT_BODY_LIMIT = 4 * 1024 * 1024  # bytes of a body, unless a route takes more
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, browsers would hide the origin of our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

UNKNOWN_HOST = "This server isn't called {}; use the address that it printed when it started, or start it with --name {}."

DUPLICATE_LENGTH = "This request says twice how long it is, and a proxy may have read it otherwise: send Content-Length or chunks."

Refusal = tuple[int, str]  # a status and a sentence


class BodyLimit:
    """The maximum size of one request's body. A route may change it, up to the server's maximum."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self.bytes = min(DEFAULT_BODY_LIMIT, largest)

    def become(self, size: int) -> None:
        """Set the limit in bytes, capped at the server's maximum."""
        self.bytes = min(size, self._largest)


class SecurityMiddleware:
    """ASGI middleware that rejects unsafe requests, and adds security headers to every response.

    `scope["body_limit"]` is the request's `BodyLimit`; `body_limit` is its maximum.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str], body_limit: int, by_address: bool = False) -> None:
        self._app = app
        self._hosts = frozenset([host.lower() for host in hosts])
        self._by_address = by_address  # whether any IP address is a valid host name: DNS can't redirect one
        self._body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        refused = self._refusal(scope)
        if scope["type"] == "websocket":
            return await (send({"type": "websocket.close", "code": 1008}) if refused else self._app(scope, receive, send))
        if refused:
            response = error_response(scope, *refused)
            if refused[1] == DUPLICATE_LENGTH:
                response.headers["connection"] = "close"  # what follows may be part of it
            return await response(scope, receive, _add_security_headers(send))
        limit = scope["body_limit"] = BodyLimit(self._body_limit)
        said = int(Headers(scope=scope).get("content-length", "0"))
        return await self._app(scope, _limit_body(receive, limit, said), _add_security_headers(send))

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers, method = Headers(scope=scope), scope.get("method", "WEBSOCKET")
        host = headers.get("host", "").lower()
        if "transfer-encoding" in headers and ("content-length" in headers or scope.get("http_version") == "1.0"):
            return 400, DUPLICATE_LENGTH
        if not self._is_allowed_host(_strip_port(host)):
            return 400, UNKNOWN_HOST.format(host or "nothing", _strip_port(host) or "NAME")
        if method in SAFE_METHODS:
            return None
        if "foreign" not in scope and not _is_own_origin(headers.get("origin"), host):
            return 403, "This request comes from another page, which may not do anything here."
        if is_api_path(scope["path"]) and _has_body(headers) and not is_json_content_type(headers.get("content-type", "")):
            return 415, "Send JSON here, with the content type application/json."
        most = BodyLimit(self._body_limit).bytes if _is_server_path(scope["path"]) else self._body_limit
        if int(headers.get("content-length", "0")) > most:
            return 413, _too_large_message(most)
        return None

    def _is_allowed_host(self, name: str) -> bool:
        return name in self._hosts or (self._by_address and _is_address(name))


def _is_server_path(path: str) -> bool:
    """Whether no assistant has routes there, which might accept larger bodies."""
    return is_compat_path(path) or path == "/mcp" or path.startswith("/mcp/")


def _is_address(name: str) -> bool:
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True


def _strip_port(host: str) -> str:
    """Return a host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _is_own_origin(origin: str | None, host: str) -> bool:
    """Whether a request was sent by a page of this server, or by no page at all: only browsers send an origin."""
    return origin is None or origin.lower() in (f"http://{host}", f"https://{host}")


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _too_large_message(limit: int) -> str:
    return f"This is more than the {limit:,} bytes that are taken at once."


def _limit_body(receive: Receive, limit: BodyLimit, said: int) -> Receive:
    """Wrap `receive` to limit the body's size.

    A body whose declared length (`said`) is too large isn't read, but not every one declares it.
    """
    come = 0

    async def receiving() -> Message:
        nonlocal come
        if come == 0 and said > limit.bytes:
            raise HTTPException(413, _too_large_message(limit.bytes))
        message = await receive()
        come += len(message.get("body", b""))
        if come > limit.bytes:
            raise HTTPException(413, _too_large_message(limit.bytes))
        return message

    return receiving


def _add_security_headers(send: Send) -> Send:
    """Wrap `send` to add security headers to every response. A stricter policy of an assistant applies as well."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.append("content-security-policy", CONTENT_SECURITY_POLICY)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending
