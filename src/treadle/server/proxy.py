"""For a server that stands behind a proxy: whom the proxy speaks for, and how they came. An ASGI layer around all others.

Only where whoever starts the server says that there is one: anybody else could write the same headers.
"""

from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send


class Forwarded:
    """Takes the address and the scheme from what the proxy itself has added, which comes last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            address, scheme = address_of(_last(headers, "x-forwarded-for")), _last(headers, "x-forwarded-proto").lower()
            if address:
                scope["client"] = (address, 0)
            if scheme in ("http", "https"):
                scope["scheme"] = scheme
        await self._app(scope, receive, send)


def _last(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    return values[-1].rpartition(",")[2].strip() if values else ""


def address_of(words: str) -> str:
    """The IP address in what a proxy wrote, without a port, which differs from one connection to the next; "" where it is none."""
    host, bracket, _ = words.removeprefix("[").partition("]")
    if not bracket and words.count(":") == 1:
        host = words.partition(":")[0]
    try:
        return str(ip_address(host))
    except ValueError:
        return ""
