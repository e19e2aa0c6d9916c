"""How the SDK reaches a server: a program's pipes, streamable HTTP, or HTTP as it was before.

What a program says on stderr is kept for whoever asks why it failed, and not shown. Who opens and closes
this, and when, is `connection`.
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

from treadle.toolsets.mcp.guarded import Guarded
from treadle.toolsets.mcp.server import Filled, Server
from treadle.toolsets.outbound.resolving import Lookup, look_up

MOST_STDERR = 4000  # bytes of a program's last words
LARGEST_EVENT = 64 * 1024 * 1024  # bytes
A_DAY = 86400.0  # seconds that a stream may say nothing

Streams = tuple[Any, Any]  # of the SDK's messages, to be read and to be written


class News:
    """What a transport finds out besides messages: that it has ended, how it was refused, what the program said on stderr."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.on_end = on_end
        self.refused = 0  # the status of the last answer that was none
        self.stderr = b""

    def hear(self, words: bytes) -> None:
        """Keep the last words."""
        self.stderr = (self.stderr + words)[-MOST_STDERR:]


@asynccontextmanager
async def transport(server: Server, filled: Filled, news: News, lookup: Lookup = look_up) -> AsyncGenerator[Streams]:
    """The streams of one session. `lookup` is how a host is resolved."""
    if server.command:
        async with _program(server, filled, news) as (reading, writing):
            yield _Watched(reading, news.on_end), writing
    elif server.sse:
        client, patience = _factory(server, lookup), server.starting
        async with sse_client(server.url, dict(filled.headers), patience, A_DAY, httpx_client_factory=client) as streams:
            yield _Watched(streams[0], news.on_end), streams[1]
    else:
        async with (
            _http(server, filled, news, lookup) as client,
            streamable_http_client(server.url, http_client=client, max_sse_event_size=LARGEST_EVENT) as (reading, writing),
        ):
            yield _Watched(reading, news.on_end), writing


def _http(server: Server, filled: Filled, news: News, lookup: Lookup) -> httpx2.AsyncClient:
    async def heard(response: httpx2.Response) -> None:
        if response.status_code >= 400 and response.request.method == "POST":
            news.refused = response.status_code

    timeout = httpx2.Timeout(server.starting, read=None)  # how long an answer may take is said for each call
    guarded = Guarded(server, lookup)
    return httpx2.AsyncClient(headers=dict(filled.headers), timeout=timeout, event_hooks={"response": [heard]}, transport=guarded)


def _factory(server: Server, lookup: Lookup) -> McpHttpClientFactory:
    """How the SDK gets a client for HTTP as it was before."""

    def made(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=Guarded(server, lookup))

    return made


# a program


@asynccontextmanager
async def _program(server: Server, filled: Filled, news: News) -> AsyncGenerator[Streams]:
    program, *arguments = server.command
    how = StdioServerParameters(
        command=program,
        args=arguments,
        env=dict(filled.env),
        cwd=server.folder or None,
        encoding_error_handler="replace",
    )
    async with _listening(news) as stderr, stdio_client(how, errlog=stderr) as streams:
        stderr.close()  # the program has it now, and its end is the end of what is heard
        yield streams


@asynccontextmanager
async def _listening(news: News) -> AsyncGenerator[TextIO]:
    """A file for a program's stderr, whose words are taken up as they come, so that whoever writes never waits."""
    if sys.platform == "win32":  # an event loop that can't listen to a pipe
        with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230, PTH123 - a device
            yield nowhere
        return
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w") as stderr:
        loop, file = asyncio.get_running_loop(), os.fdopen(ours, "rb", buffering=0)
        listening, _ = await loop.connect_read_pipe(lambda: _Heard(news), file)
        try:
            yield stderr
        finally:
            listening.close()


class _Heard(asyncio.Protocol):
    def __init__(self, news: News) -> None:
        self._news = news

    def data_received(self, data: bytes) -> None:
        self._news.hear(data)


class _Watched:
    """A stream of messages that tells when it has come to its end: the SDK tells only those who wait for an answer."""

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
