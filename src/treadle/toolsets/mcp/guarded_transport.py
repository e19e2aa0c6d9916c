"""HTTP transport to one MCP server: its own origin only, at checked addresses, as in `http_guard` for other tools.

A host is resolved for each request, all its addresses are checked, and the request goes to one of those; no proxy from the
environment is used. A host written as local (`localhost`, `127.0.0.1`, `192.168.1.7`) may be local, a name only if set so.
"""

import ssl
from collections.abc import Sequence
from functools import cache
from urllib.parse import urlsplit

import httpx2

from treadle.guard.addresses import NOT_AN_ADDRESS, classify_address
from treadle.http_guard.origins import HttpOrigin, parse_target
from treadle.http_guard.problems import HttpProblem, TargetNotAllowed
from treadle.http_guard.resolver import HostLookup, check_addresses, is_local_host, is_localhost
from treadle.toolsets.mcp.server import McpServer

LOCALHOST_ADDRESSES = ("127.0.0.1", "::1")  # what localhost is, whatever a name server says


class RequestBlocked(httpx2.ConnectError):
    """Nothing was sent: the guard blocks requests to this address."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Transport for requests to one server."""

    def __init__(self, server: McpServer, lookup: HostLookup) -> None:
        self._origin = parse_target(server.url).origin
        self._private = server.private or is_local_host(self._origin.host)
        self._lookup = lookup
        self._inner = httpx2.AsyncHTTPTransport(verify=_make_tls_context(), trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the first address that accepts a connection."""
        addresses = await self._resolve_request(request)
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pin_address(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pin_address(request, addresses[-1]))

    async def aclose(self) -> None:
        """Close its connections."""
        await self._inner.aclose()

    async def _resolve_request(self, request: httpx2.Request) -> Sequence[str]:
        try:
            to = parse_target(str(request.url)).origin
            if to not in (self._origin, _upgrade_to_https(self._origin)):
                raise TargetNotAllowed(f"{to} isn't {self._origin}, and an MCP server is asked at its own address only.")
            addresses = await _resolve(to, self._lookup)
            check_addresses(to.host, addresses, private=self._private)
        except HttpProblem as problem:
            raise RequestBlocked(str(problem)) from None
        except (OSError, UnicodeError):
            raise RequestBlocked(f"The host {self._origin.host} isn't known. Check how it is written.") from None
        return addresses


async def _resolve(to: HttpOrigin, lookup: HostLookup) -> Sequence[str]:
    if is_localhost(to.host):
        return LOCALHOST_ADDRESSES
    return await lookup(to.host, to.port) if classify_address(to.host) == NOT_AN_ADDRESS else (to.host,)


def _upgrade_to_https(origin: HttpOrigin) -> HttpOrigin:
    """Return the same host over TLS, where a server redirects plain HTTP."""
    return HttpOrigin("https", origin.host, 443) if (origin.scheme, origin.port) == ("http", 80) else origin


def _pin_address(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return the request for one address. Its `Host`, and the name that the certificate must have, are unchanged."""
    url = request.url.copy_with(host=address)
    extensions = {**request.extensions, "sni_hostname": urlsplit(str(request.url)).hostname}
    return httpx2.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)


@cache  # it takes longer to make than everything else of a connection
def _make_tls_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
