"""Middleware behind a proxy: takes the client's address and scheme from the proxy's headers. Outside of all other middleware.

Enabled only by an option: without a proxy, any client could send the same headers.
"""

from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send


class ProxyHeadersMiddleware:
    """ASGI middleware that reads the address and scheme that the proxy itself added, which come last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the client's address and scheme, and pass the request on."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            address, scheme = (
                parse_forwarded_address(_last_value(headers, "x-forwarded-for")),
                _last_value(headers, "x-forwarded-proto").lower(),
            )
            if address:
                scope["client"] = (address, 0)
            if scheme in ("http", "https"):
                scope["scheme"] = scheme
        await self._app(scope, receive, send)


def _last_value(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    return values[-1].rpartition(",")[2].strip() if values else ""


def parse_forwarded_address(words: str) -> str:
    """Return the IP address in a proxy's header, without the port, which differs per connection; "" where it is invalid."""
    host, bracket, _ = words.removeprefix("[").partition("]")
    if not bracket and words.count(":") == 1:
        host = words.partition(":")[0]
    try:
        return str(ip_address(host))
    except ValueError:
        return ""
