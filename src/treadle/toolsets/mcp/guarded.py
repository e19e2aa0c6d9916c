"""HTTP to one MCP server: its own origin only, at checked addresses, as `outbound` has it for other tools.

A host is looked up for each request, all its addresses are checked, and the request goes to one of those; no proxy of the
environment is used. What a person names as near (`localhost`, `127.0.0.1`, `192.168.1.7`) may be near, a name only if they say so.
"""

import ssl
from collections.abc import Sequence
from functools import cache
from urllib.parse import urlsplit

import httpx2

from treadle.guard.addresses import NO_ADDRESS, special
from treadle.toolsets.mcp.server import Server
from treadle.toolsets.outbound.origins import Origin, target
from treadle.toolsets.outbound.problems import NotAllowed, OutboundProblem
from treadle.toolsets.outbound.resolving import NEAR, Lookup, check

HERE = ("127.0.0.1", "::1")  # what localhost is, whatever a name server says


class Unsafe(httpx2.ConnectError):
    """Nothing was sent: the guard doesn't let a request go there."""


class Guarded(httpx2.AsyncBaseTransport):
    """Requests to one server."""

    def __init__(self, server: Server, lookup: Lookup) -> None:
        self._origin = target(server.url).origin
        self._private = server.private or is_near(self._origin.host)
        self._lookup = lookup
        self._inner = httpx2.AsyncHTTPTransport(verify=_tls(), trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the first address that can be connected to."""
        addresses = await self._addresses(request)
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pinned(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pinned(request, addresses[-1]))

    async def aclose(self) -> None:
        """Close its connections."""
        await self._inner.aclose()

    async def _addresses(self, request: httpx2.Request) -> Sequence[str]:
        try:
            to = target(str(request.url)).origin
            if to not in (self._origin, _upgraded(self._origin)):
                raise NotAllowed(f"{to} isn't {self._origin}, and an MCP server is asked at its own address only.")
            addresses = await _looked_up(to, self._lookup)
            check(to.host, addresses, private=self._private)
        except OutboundProblem as problem:
            raise Unsafe(str(problem)) from None
        except (OSError, UnicodeError):
            raise Unsafe(f"The host {self._origin.host} isn't known. Check how it is written.") from None
        return addresses


def is_near(host: str) -> bool:
    """Whether a host is written as one of this machine's or its network's, so that whoever names it means that."""
    return _is_here(host) or special(host) in NEAR


def _is_here(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


async def _looked_up(to: Origin, lookup: Lookup) -> Sequence[str]:
    if _is_here(to.host):
        return HERE
    return await lookup(to.host, to.port) if special(to.host) == NO_ADDRESS else (to.host,)


def _upgraded(origin: Origin) -> Origin:
    """The same host over TLS, where a server leads those who come without."""
    return Origin("https", origin.host, 443) if (origin.scheme, origin.port) == ("http", 80) else origin


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    """The request as it goes to one address. Its `Host`, and the name that a certificate has to have, stay what they are."""
    url = request.url.copy_with(host=address)
    extensions = {**request.extensions, "sni_hostname": urlsplit(str(request.url)).hostname}
    return httpx2.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)


@cache  # it takes longer to make than everything else of a connection
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
