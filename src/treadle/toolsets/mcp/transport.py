"""Transports of the SDK: a program's pipes, streamable HTTP, or the older HTTP+SSE.

A program's stderr is captured to explain failures, and not shown. `connection` opens and closes the transport.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TextIO

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import McpHttpClientFactory

from treadle.http_guard.resolver import HostLookup, resolve_host
from treadle.toolsets.mcp.guarded_transport import GuardedTransport
from treadle.toolsets.mcp.server import McpServer, ServerValues

MAX_STDERR = 4000  # bytes of a program's last words
MAX_EVENT = 64 * 1024 * 1024  # bytes
STREAM_TIMEOUT = 86400.0  # seconds that a stream may say nothing

Streams = tuple[Any, Any]  # of the SDK's messages, to be read and to be written


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
