"""HTTP connection pool: one request and its response, on the lower half of aiohttp: its connector and its parser.

aiohttp's own session costs three times what this does, and a round of an agent is mostly that. Idle connections are kept here
too: asking the connector for one costs a tenth of a round. This is the only module that uses aiohttp, which is imported with
the first request. `http` interprets the responses.
"""

import asyncio
import warnings
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from functools import cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from treadle.core.errors import ModelError
from treadle.models.complete_response import CompleteResponse, read_complete_response
from treadle.models.server_errors import ServerIdentity, broken_reply_error, is_html_type, no_answer_error, unreachable_error

if TYPE_CHECKING:
    from aiohttp import BasicAuth, ClientRequest, ClientTimeout, StreamReader, TCPConnector
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.http import RawResponseMessage
    from yarl import URL

KEEP_ALIVE = 55.0  # seconds an unused connection is kept: below the minute after which most proxies drop one
DRAIN_TIMEOUT = 0.25  # seconds for what may follow the end of a reply
_NEVER = float("inf")
TICK = 0.25  # seconds between two looks for answers that have stalled


class Timeouts(Struct, frozen=True):
    """Timeouts in seconds: to connect, to the first byte of the response, and between two pieces of it."""

    connect: float = 10.0
    first_byte: float = 600.0
    idle: float = 120.0


DEFAULT_TIMEOUTS = Timeouts()


class ConnectionPool:
    """What the requests of one event loop share: the connections, and the timer for responses that stall.

    One timer serves all of them. A timer for each wait would cost more than anything else here.
    """

    __slots__ = ("_due", "_keeper", "_sweeping", "_ticking", "_watched", "connector", "loop", "routes")

    def __init__(self, loop: asyncio.AbstractEventLoop, connector: "TCPConnector") -> None:
        self.loop = loop
        self.connector = connector
        self._keeper = _close_with_loop(self)
        self._watched: set[ReadTimer] = set()
        self._ticking = False
        self._due = 0.0  # when the next look is planned for
        self.routes: dict[tuple[URL, Timeouts], ServerRoute] = {}
        self._sweeping = False

    async def open(self) -> None:
        """Register to be closed with the loop."""
        await anext(self._keeper)

    async def close(self) -> None:
        """Close the idle connections."""
        await self._keeper.aclose()

    def watch(self, wait: "ReadTimer") -> None:
        """Watch a timer until `unwatch`."""
        self._watched.add(wait)
        if not self._ticking:
            self._ticking = True
            self._schedule_tick()

    def unwatch(self, wait: "ReadTimer") -> None:
        """Stop watching a timer."""
        self._watched.discard(wait)

    def sweep_later(self) -> None:
        """Schedule closing of the connections that routes will have kept too long by then."""
        if not self._sweeping:
            self._sweeping = True
            self.loop.call_later(KEEP_ALIVE, self._sweep_and_continue)

    def _sweep_and_continue(self) -> None:
        self._sweeping = False
        if self.sweep(monotonic() - KEEP_ALIVE):
            self.sweep_later()

    def sweep(self, before: float) -> bool:
        """Close connections that have been idle since before that time; return whether any are left."""
        return sum(route.drop(before) for route in self.routes.values()) > 0

    def _schedule_tick(self) -> None:
        self._due = monotonic() + TICK
        self.loop.call_later(TICK, self._tick)

    def _tick(self) -> None:
        """Abort what was overdue when this tick was scheduled for: if the loop itself is late, responses may be waiting unread."""
        for wait in [wait for wait in self._watched if wait.until < self._due]:
            self._watched.discard(wait)
            wait.give_up()
        self._ticking = bool(self._watched)
        if self._ticking:
            self._schedule_tick()


_pools: dict[asyncio.AbstractEventLoop, ConnectionPool] = {}


async def _get_pool(loop: asyncio.AbstractEventLoop) -> ConnectionPool:
    hub = _pools.get(loop)
    if hub is None:
        for known in [known for known in list(_pools) if known.is_closed()]:
            _forget_loop(known)
        hub = _pools[loop] = ConnectionPool(loop, _connector_class()(limit=0, keepalive_timeout=KEEP_ALIVE))
        await hub.open()
    return hub


def _forget_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Drop the pool of a loop that was closed without being shut down. It can't close anything any more."""
    hub = _pools.pop(loop, None)
    if hub is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            for route in hub.routes.values():
                route.forget()


async def _close_with_loop(hub: ConnectionPool) -> AsyncGenerator[None, None]:
    """Close the connections when the loop ends: `asyncio.run` and the like close generators that are still waiting."""
    try:
        yield
    finally:
        _pools.pop(hub.loop, None)
        hub.sweep(float("inf"))
        await hub.connector.close()


@cache
def _connector_class() -> "type[TCPConnector]":
    from aiohttp import TCPConnector
    from aiohttp.client_proto import ResponseHandler

    class ModelProtocol(ResponseHandler):
        """Reads a response that arrives complete by itself; everything else goes to the parser."""

        awaits_response = False  # and nothing of it has come

        def data_received(self, data: bytes) -> None:
            complete = read_complete_response(data) if self.awaits_response else None
            self.awaits_response = False
            if complete is None:
                super().data_received(data)
            else:
                # Its head and its body in one: as far as an exchange reads them, they are what the parser gives.
                self.feed_data((complete, complete))  # pyright: ignore[reportArgumentType]

        def resume_reading(self, resume_parser: bool = True) -> None:
            # A stream asks for this after every piece of a body: without a pause, nothing is left that the parser could go on with.
            if self._reading_paused:
                super().resume_reading(resume_parser)

    class QuietConnector(TCPConnector):
        """Says nothing where a loop was dropped without being ended; the sockets close all the same."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)  # pyright: ignore[reportUnknownMemberType]  # a type of aiohttp
            self._factory = partial(ModelProtocol, loop=self._loop)

        def __del__(self, _warnings: object = None) -> None: ...

    return QuietConnector


async def close_connections() -> None:
    """Close the idle connections of the running loop. The next request opens new ones."""
    hub = _pools.get(asyncio.get_running_loop())
    if hub is not None:
        await hub.close()


class ServerRoute:
    """The route to one address in one event loop, with its idle connections."""

    __slots__ = ("_kept", "hub", "prefix", "proxy_authorization", "request", "timeouts")

    def __init__(self, hub: ConnectionPool, request: "ClientRequest", timeouts: Timeouts) -> None:
        self.hub = hub
        self.request = request
        self.timeouts = timeouts
        self._kept: list[tuple[Connection, float]] = []
        through_proxy = request.proxy is not None and not request.is_ssl()  # TLS goes through a tunnel instead
        self.prefix = str(request.url.origin()) if through_proxy else ""
        self.proxy_authorization = request.proxy_auth.encode() if through_proxy and request.proxy_auth else ""

    def keep(self, connection: "Connection") -> None:
        """Keep a connection for the next request."""
        if not self._kept:
            self.hub.sweep_later()
        self._kept.append((connection, monotonic()))

    def take(self) -> "Connection | None":
        """Return the most recently used connection, if it is still alive."""
        while self._kept:
            connection, _ = self._kept.pop()
            if _is_alive(connection):
                return connection
            connection.close()
        return None

    def drop(self, before: float) -> bool:
        """Close connections kept before that time; return whether any are left."""
        old = [connection for connection, since in self._kept if since <= before]
        self._kept = self._kept[len(old) :]
        for connection in old:
            connection.close()
        return bool(self._kept)

    def forget(self) -> None:
        """Drop the kept connections without closing them: their loop is gone."""
        self._kept = []

    def leads(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether the route can be used from this loop."""
        return _pools.get(loop) is self.hub


def _is_alive(connection: "Connection") -> bool:
    protocol = connection.protocol
    transport = None if protocol is None else protocol.transport
    return protocol is not None and transport is not None and not transport.is_closing() and not protocol.should_close


async def find_route(address: str, timeouts: Timeouts) -> ServerRoute:
    """Return the route to `address` from the running loop; through a proxy if the environment names one."""
    from aiohttp import ClientRequest
    from yarl import URL

    loop = asyncio.get_running_loop()
    hub = await _get_pool(loop)
    server = URL(address).origin()
    route = hub.routes.get((server, timeouts))
    if route is None:
        proxy, auth = _find_proxy(server)
        route = ServerRoute(hub, ClientRequest("POST", server, loop=loop, proxy=proxy, proxy_auth=auth), timeouts)
        hub.routes[server, timeouts] = route
    return route


def _find_proxy(url: "URL") -> "tuple[URL | None, BasicAuth | None]":
    from aiohttp.helpers import get_env_proxy_for_url

    if url.host not in ("localhost", "127.0.0.1", "::1"):
        with suppress(LookupError):
            return get_env_proxy_for_url(url)
    return None, None


class ReadTimer:
    """A read timeout."""

    __slots__ = ("_limit", "_transport", "given_up", "until")

    def __init__(self, transport: asyncio.Transport, limit: float) -> None:
        self._transport = transport
        self._limit = limit
        self.until = monotonic() + limit
        self.given_up = False

    def begin(self, limit: float) -> None:
        """Start the timeout again."""
        self._limit = limit
        self.until = monotonic() + limit

    def rest(self) -> None:
        """Stop the timeout: data arrived."""
        self.until = _NEVER

    def give_up(self) -> None:
        """Abort after the timeout: closing the connection wakes the waiting task."""
        self.given_up = True
        self._transport.abort()

    def why(self, error: BaseException | None) -> str:
        """Return the reason why no data arrived."""
        if self.given_up:
            return f"nothing came for {self._limit:g} seconds"
        return " ".join(str(error).split()) or "the connection was closed"


class HttpExchange:
    """A request that was sent and its response: the head is complete, the body follows."""

    __slots__ = ("_connection", "_head", "_payload", "_route", "_server", "_wait", "status")

    def __init__(
        self,
        server: ServerIdentity,
        route: ServerRoute,
        wait: ReadTimer,
        connection: "Connection",
        head: "RawResponseMessage | CompleteResponse",
        payload: "StreamReader | CompleteResponse",
    ) -> None:
        self._server = server
        self._route = route
        self._wait = wait
        self._connection: Connection | None = connection
        self._payload = payload
        self._head = head
        self.status = head.code

    @property
    def headers(self) -> Mapping[str, str]:
        """The fields of the head."""
        return self._head.headers

    @property
    def is_web_page(self) -> bool:
        """Whether it is HTML, as proxies and sign-in pages send it."""
        return not isinstance(self._head, CompleteResponse) and is_html_type(self._head.headers)

    async def some(self) -> bytes:
        """Return the next piece of the body; empty at its end."""
        wait = self._wait
        wait.begin(self._route.timeouts.idle)
        try:
            piece = await self._payload.readany()
        except _network_errors() as error:
            raise broken_reply_error(self._server, wait.why(error)) from error
        wait.rest()
        if wait.given_up:
            raise broken_reply_error(self._server, wait.why(None))
        return piece

    async def rest(self, most: int | None = None) -> bytes:
        """Return the rest of the body, or about the first `most` bytes of it."""
        if isinstance(self._payload, CompleteResponse):  # there is nothing to wait for
            return self._payload.take()
        body = await self.some()
        pieces, size = [body], len(body)
        while not self._payload.at_eof() and (most is None or size < most) and (piece := await self.some()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    async def drain(self) -> None:
        """Wait briefly for the end of the body, so that the connection can be reused."""
        if not self._payload.at_eof():
            with suppress(ModelError, TimeoutError):
                async with asyncio.timeout(DRAIN_TIMEOUT):
                    while await self.some():
                        pass

    def take_complete(self) -> bytes:
        """Return the body if it arrived with the head; else nothing, and `rest` waits for it."""
        return self._payload.take() if isinstance(self._payload, CompleteResponse) else b""

    def leave(self) -> None:
        """Return the connection to its route, or close it if the body isn't complete. Only once: it may be in use again by now."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        route, payload = self._route, self._payload
        route.hub.unwatch(self._wait)
        # After a response that was there at once, the connection is fit; whether it still is, `take` looks.
        if payload.at_eof() and (isinstance(payload, CompleteResponse) or _is_alive(connection)):
            route.keep(connection)
        else:
            _abort(connection)


def _abort(connection: "Connection") -> None:
    """Close a connection at once. Closing alone would first send the rest of a request that was given up."""
    if connection.transport is not None:
        connection.transport.abort()
    connection.close()


async def send_request(route: ServerRoute, server: ServerIdentity, head: bytes, body: bytes = b"") -> HttpExchange:
    """Send a request; return the response as soon as its head is complete. The caller has to `release` it.

    Some servers close connections they promised to keep. What was sent on one of those has most likely not been read, and is sent
    again on a new one: asking a model twice does no harm.
    """
    kept = route.take()
    while True:
        connection = await _connect(route, server) if kept is None else kept
        protocol, transport = _endpoints_of(connection, server)
        wait = ReadTimer(transport, route.timeouts.first_byte)
        route.hub.watch(wait)
        try:
            if kept is None:  # a parser serves all responses of its connection, one after the other
                protocol.set_response_params(read_until_eof=True)
            protocol.awaits_response = True  # pyright: ignore[reportAttributeAccessIssue]  # our own subclass
            transport.writelines((head, body) if body else (head,))  # no copy of it stays while the model works
            answer, payload = await protocol.read()
            while answer.code < 200:  # 1xx announces the answer
                answer, payload = await protocol.read()
            wait.rest()
            return HttpExchange(server, route, wait, connection, answer, payload)
        except BaseException as error:
            route.hub.unwatch(wait)
            _abort(connection)
            if kept is None or wait.given_up or not isinstance(error, _dropped_errors()):
                if isinstance(error, _network_errors()):
                    raise no_answer_error(server, wait.why(error)) from error
                raise
        kept = None  # the server had closed it


async def _connect(route: ServerRoute, server: ServerIdentity) -> "Connection":
    try:
        return await route.hub.connector.connect(route.request, [], _client_timeout(route.timeouts.connect))
    except _network_errors() as error:
        raise unreachable_error(server, error) from error


def _endpoints_of(connection: "Connection", server: ServerIdentity) -> "tuple[ResponseHandler, asyncio.Transport]":
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None:
        connection.close()
        raise no_answer_error(server, "the connection was closed")
    return protocol, transport


@cache
def _dropped_errors() -> tuple[type[Exception], ...]:
    from aiohttp import ClientOSError, ServerDisconnectedError

    return ServerDisconnectedError, ClientOSError, ConnectionError


@cache
def _network_errors() -> tuple[type[Exception], ...]:
    from aiohttp import ClientError
    from aiohttp.http_exceptions import HttpProcessingError

    return ClientError, HttpProcessingError, OSError, RuntimeError  # the last where the connection is already gone


@cache
def _client_timeout(connect: float) -> "ClientTimeout":
    from aiohttp import ClientTimeout

    return ClientTimeout(total=None, connect=connect)
