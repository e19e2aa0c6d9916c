"""Who may talk to the server, and what browsers are told: one ASGI layer around everything else.

A page of somebody else's, open in the same browser, can send requests here. It can't when the request has to name this server
as its `Host` (no other name may lead here), when what changes something has to come from one of our own pages, and when JSON is
all that is taken, which a foreign page can't send unasked.
"""

from collections.abc import Sequence
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.server.errors import error_response, is_for_programs, is_json
from treadle.server.wires.refused import is_wire

SAFE = ("GET", "HEAD", "OPTIONS")
USUAL = 4 * 1024 * 1024  # bytes of a body, unless a route takes more
CONTENT = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, browsers would hide the origin of our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

NOT_CALLED = "This server isn't called {}; use the address that it printed when it started, or start it with --name {}."

TWO_LENGTHS = "This request says twice how long it is, and a proxy may have read it otherwise: send Content-Length or chunks."

Refusal = tuple[int, str]  # a status and a sentence


class BodyLimit:
    """How many bytes of one request's body are taken. A route may have it become another one, up to what is taken anywhere."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self.bytes = min(USUAL, largest)

    def become(self, size: int) -> None:
        """So many are taken here."""
        self.bytes = min(size, self._largest)


class Gate:
    """Lets in what may come in, and sends out nothing without the headers that browsers go by.

    `scope["body_limit"]` is the request's `BodyLimit`; `body_limit` is the most that it can become.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str], body_limit: int, by_address: bool = False) -> None:
        self._app = app
        self._hosts = frozenset([host.lower() for host in hosts])
        self._by_address = by_address  # whether any IP address will do as a name: nobody can lead one elsewhere
        self._body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        refused = self._refusal(scope)
        if scope["type"] == "websocket":
            return await (send({"type": "websocket.close", "code": 1008}) if refused else self._app(scope, receive, send))
        if refused:
            response = error_response(scope, *refused)
            if refused[1] == TWO_LENGTHS:
                response.headers["connection"] = "close"  # what follows may be part of it
            return await response(scope, receive, _hardened(send))
        limit = scope["body_limit"] = BodyLimit(self._body_limit)
        said = int(Headers(scope=scope).get("content-length", "0"))
        return await self._app(scope, _bounded(receive, limit, said), _hardened(send))

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers, method = Headers(scope=scope), scope.get("method", "WEBSOCKET")
        host = headers.get("host", "").lower()
        if "transfer-encoding" in headers and ("content-length" in headers or scope.get("http_version") == "1.0"):
            return 400, TWO_LENGTHS
        if not self._is_called(_name(host)):
            return 400, NOT_CALLED.format(host or "nothing", _name(host) or "NAME")
        if method in SAFE:
            return None
        if "foreign" not in scope and not _is_ours(headers.get("origin"), host):
            return 403, "This request comes from another page, which may not do anything here."
        if is_for_programs(scope["path"]) and _has_body(headers) and not is_json(headers.get("content-type", "")):
            return 415, "Send JSON here, with the content type application/json."
        most = BodyLimit(self._body_limit).bytes if _is_ours_alone(scope["path"]) else self._body_limit
        if int(headers.get("content-length", "0")) > most:
            return 413, _too_large(most)
        return None

    def _is_called(self, name: str) -> bool:
        return name in self._hosts or (self._by_address and _is_address(name))


def _is_ours_alone(path: str) -> bool:
    """Whether no assistant has routes there, which might take more than usual."""
    return is_wire(path) or path == "/mcp" or path.startswith("/mcp/")


def _is_address(name: str) -> bool:
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True


def _name(host: str) -> str:
    """A host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _is_ours(origin: str | None, host: str) -> bool:
    """Whether a request was made by a page of this server, or by no page at all: only browsers name an origin."""
    return origin is None or origin.lower() in (f"http://{host}", f"https://{host}")


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _too_large(limit: int) -> str:
    return f"This is more than the {limit:,} bytes that are taken at once."


def _bounded(receive: Receive, limit: BodyLimit, said: int) -> Receive:
    """The body as it comes, as long as it isn't too large; one that is `said` to be isn't read, but not every one says so."""
    come = 0

    async def receiving() -> Message:
        nonlocal come
        if come == 0 and said > limit.bytes:
            raise HTTPException(413, _too_large(limit.bytes))
        message = await receive()
        come += len(message.get("body", b""))
        if come > limit.bytes:
            raise HTTPException(413, _too_large(limit.bytes))
        return message

    return receiving


def _hardened(send: Send) -> Send:
    """Every answer with the headers that browsers go by. A stricter policy of an assistant's holds besides ours."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.append("content-security-policy", CONTENT)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending
