"""Transports to an MCP server: a program's pipes, streamable HTTP, or the older HTTP+SSE. `connection` opens and closes them.

A program's stderr is captured to explain failures, and not shown.

HTTP reaches the server's own origin only, at checked addresses, as `http_guard` does for other tools: a host is resolved for each
request, all its addresses are checked, and the request goes to one of those; no proxy from the environment is used. A host written
as local (`localhost`, `127.0.0.1`, `192.168.1.7`) may be local, a name only if set so.
"""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from types import TracebackType
from typing import Any, Self, TextIO
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import McpHttpClientFactory

from treadle.guard.addresses import NOT_AN_ADDRESS, classify_address
from treadle.http_guard.origins import HttpOrigin, parse_target
from treadle.http_guard.problems import HttpProblem, TargetNotAllowed
from treadle.http_guard.resolver import HostLookup, check_addresses, is_local_host, is_localhost, resolve_host
from treadle.toolsets.mcp.server import McpServer, ServerValues

LOCALHOST_ADDRESSES = ("127.0.0.1", "::1")  # what localhost is, whatever a name server says
MAX_STDERR = 4000  # bytes of a program's last words
MAX_EVENT = 64 * 1024 * 1024  # bytes
STREAM_TIMEOUT = 86400.0  # seconds that a stream may say nothing

Streams = tuple[Any, Any]  # of the SDK's messages, to be read and to be written


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


class TransportEvents:
    """What a transport learns besides messages: that it has ended, how it was refused, the program's stderr."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.on_end = on_end
        self.refused = 0  # the status of the last answer that was none
        self.stderr = b""

    def hear(self, words: bytes) -> None:
        """Append to stderr, keeping only its end."""
        self.stderr = (self.stderr + words)[-MAX_STDERR:]


@asynccontextmanager
async def open_transport(
    server: McpServer, filled: ServerValues, news: TransportEvents, lookup: HostLookup = resolve_host
) -> AsyncGenerator[Streams]:
    """Yield the streams of one session. `lookup` is how a host is resolved."""
    if server.command:
        async with _run_program(server, filled, news) as (reading, writing):
            yield _WatchedStream(reading, news.on_end), writing
    elif server.sse:
        client, patience = _make_client_factory(server, lookup), server.starting
        async with sse_client(server.url, dict(filled.headers), patience, STREAM_TIMEOUT, httpx_client_factory=client) as streams:
            yield _WatchedStream(streams[0], news.on_end), streams[1]
    else:
        async with (
            _make_http_client(server, filled, news, lookup) as client,
            streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_EVENT) as (reading, writing),
        ):
            yield _WatchedStream(reading, news.on_end), writing


def _make_http_client(server: McpServer, filled: ServerValues, news: TransportEvents, lookup: HostLookup) -> httpx2.AsyncClient:
    async def heard(response: httpx2.Response) -> None:
        if response.status_code >= 400 and response.request.method == "POST":
            news.refused = response.status_code

    timeout = httpx2.Timeout(server.starting, read=None)  # how long an answer may take is said for each call
    guarded = GuardedTransport(server, lookup)
    return httpx2.AsyncClient(headers=dict(filled.headers), timeout=timeout, event_hooks={"response": [heard]}, transport=guarded)


def _make_client_factory(server: McpServer, lookup: HostLookup) -> McpHttpClientFactory:
    """Return the SDK's HTTP client factory for the HTTP+SSE transport."""

    def made(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=GuardedTransport(server, lookup))

    return made


# a program


@asynccontextmanager
async def _run_program(server: McpServer, filled: ServerValues, news: TransportEvents) -> AsyncGenerator[Streams]:
    program, *arguments = server.command
    how = StdioServerParameters(
        command=program,
        args=arguments,
        env=dict(filled.env),
        cwd=server.folder or None,
        encoding_error_handler="replace",
    )
    async with _capture_stderr(news) as stderr, stdio_client(how, errlog=stderr) as streams:
        stderr.close()  # the program has it now, and its end is the end of what is heard
        yield streams


@asynccontextmanager
async def _capture_stderr(news: TransportEvents) -> AsyncGenerator[TextIO]:
    """Yield a file for a program's stderr that is drained continuously, so that the writer never blocks."""
    if sys.platform == "win32":  # an event loop that can't listen to a pipe
        with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230, PTH123 - a device
            yield nowhere
        return
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w") as stderr:
        loop, file = asyncio.get_running_loop(), os.fdopen(ours, "rb", buffering=0)
        listening, _ = await loop.connect_read_pipe(lambda: _StderrProtocol(news), file)
        try:
            yield stderr
        finally:
            listening.close()


class _StderrProtocol(asyncio.Protocol):
    def __init__(self, news: TransportEvents) -> None:
        self._news = news

    def data_received(self, data: bytes) -> None:
        self._news.hear(data)


class _WatchedStream:
    """A message stream that reports its end: the SDK reports it only to tasks that wait for a response."""

    def __init__(self, inner: Any, on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._on_end()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._inner.__aexit__(kind, error, trace)
