"""One request and its answer over HTTP, on the lower half of aiohttp: its connector and its parser.

aiohttp's own session costs three times what this does, and a round of an agent is mostly that. Connections in between two
requests are kept here too: asking the connector for one costs a tenth of a round. The only module that knows aiohttp, which
is imported with the first request. What an answer means is `http`.
"""

import asyncio
import warnings
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle.core.errors import ModelError
from treadle.models.refusals import Server, broken, unanswered, unreachable

if TYPE_CHECKING:
    from aiohttp import BasicAuth, ClientRequest, ClientTimeout, StreamReader, TCPConnector
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.http import RawResponseMessage
    from yarl import URL

KEEP_ALIVE = 55.0  # seconds an unused connection is kept: below the minute after which most proxies drop one
LAST_WORDS = 0.25  # seconds for what may follow the end of a reply
TICK = 0.25  # seconds between two looks for answers that have stalled


class Timeouts(Struct, frozen=True):
    """Seconds: until a connection stands, until the answer begins, and between two pieces of it."""

    connect: float = 10.0
    first_byte: float = 600.0
    idle: float = 120.0


PATIENT = Timeouts()


class Hub:
    """What the exchanges of one event loop share: the connections, and the watch over answers that don't come.

    One timer looks after all of them. A timer for each wait would cost more than anything else here.
    """

    __slots__ = ("_due", "_keeper", "_sweeping", "_ticking", "_watched", "connector", "loop", "routes")

    def __init__(self, loop: asyncio.AbstractEventLoop, connector: "TCPConnector") -> None:
        self.loop = loop
        self.connector = connector
        self._keeper = _keeper(self)
        self._watched: set[Wait] = set()
        self._ticking = False
        self._due = 0.0  # when the next look is planned for
        self.routes: dict[tuple[URL, Timeouts], Route] = {}
        self._sweeping = False

    async def open(self) -> None:
        """Begin to be closed with the loop."""
        await anext(self._keeper)

    async def close(self) -> None:
        """Close the connections that nobody uses."""
        await self._keeper.aclose()

    def watch(self, wait: "Wait") -> None:
        """Look after a wait until it is `ended`."""
        self._watched.add(wait)
        if not self._ticking:
            self._ticking = True
            self._look_later()

    def ended(self, wait: "Wait") -> None:
        """Look after it no longer."""
        self._watched.discard(wait)

    def sweep_later(self) -> None:
        """Close in a while what routes have kept for too long by then."""
        if not self._sweeping:
            self._sweeping = True
            self.loop.call_later(KEEP_ALIVE, self._sweep_on)

    def _sweep_on(self) -> None:
        self._sweeping = False
        if self.sweep(monotonic() - KEEP_ALIVE):
            self.sweep_later()

    def sweep(self, before: float) -> bool:
        """Close what has been kept since before that moment; whether any is left."""
        return sum(route.drop(before) for route in self.routes.values()) > 0

    def _look_later(self) -> None:
        self._due = monotonic() + TICK
        self.loop.call_later(TICK, self._tick)

    def _tick(self) -> None:
        """Give up what was overdue when this look was planned for: where we come late ourselves, answers may lie there unread."""
        for wait in [wait for wait in self._watched if wait.until < self._due]:
            self._watched.discard(wait)
            wait.give_up()
        self._ticking = bool(self._watched)
        if self._ticking:
            self._look_later()


_hubs: dict[asyncio.AbstractEventLoop, Hub] = {}


async def _hub_of(loop: asyncio.AbstractEventLoop) -> Hub:
    hub = _hubs.get(loop)
    if hub is None:
        for known in [known for known in list(_hubs) if known.is_closed()]:
            _forget(known)
        hub = _hubs[loop] = Hub(loop, _quiet_connector()(limit=0, keepalive_timeout=KEEP_ALIVE))
        await hub.open()
    return hub


def _forget(loop: asyncio.AbstractEventLoop) -> None:
    """Let go of what a loop left behind that was closed without being ended. It can't close anything any more."""
    hub = _hubs.pop(loop, None)
    if hub is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            for route in hub.routes.values():
                route.forget()


async def _keeper(hub: Hub) -> AsyncGenerator[None, None]:
    """Closes the connections when the loop ends: `asyncio.run` and its like close the generators that still wait."""
    try:
        yield
    finally:
        _hubs.pop(hub.loop, None)
        hub.sweep(float("inf"))
        await hub.connector.close()


@cache
def _quiet_connector() -> "type[TCPConnector]":
    from aiohttp import TCPConnector

    class QuietConnector(TCPConnector):
        """Says nothing where a loop was dropped without being ended; the sockets close all the same."""

        def __del__(self, _warnings: object = None) -> None: ...

    return QuietConnector


async def close_connections() -> None:
    """Close the unused connections of the running loop. What asks next opens new ones."""
    hub = _hubs.get(asyncio.get_running_loop())
    if hub is not None:
        await hub.close()


class Route:
    """The way to one address in one event loop, with the connections to it that nobody uses just now."""

    __slots__ = ("_kept", "hub", "prefix", "proxy_authorization", "request", "timeouts")

    def __init__(self, hub: Hub, request: "ClientRequest", timeouts: Timeouts) -> None:
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
        """The connection that was used last, if it still stands."""
        while self._kept:
            connection, _ = self._kept.pop()
            if _stands(connection):
                return connection
            connection.close()
        return None

    def drop(self, before: float) -> bool:
        """Close what was kept before that moment; whether any is left."""
        old = [connection for connection, since in self._kept if since <= before]
        self._kept = self._kept[len(old) :]
        for connection in old:
            connection.close()
        return bool(self._kept)

    def forget(self) -> None:
        """Let go of what is kept without closing it: its loop is gone."""
        self._kept = []

    def leads(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it can be taken, from this loop."""
        return self.hub.loop is loop and not self.hub.connector.closed


def _stands(connection: "Connection") -> bool:
    protocol = connection.protocol
    return protocol is not None and protocol.is_connected() and not protocol.should_close


async def route_to(address: str, timeouts: Timeouts) -> Route:
    """The way to `address` from the running loop; through a proxy, where the environment names one."""
    from aiohttp import ClientRequest
    from yarl import URL

    loop = asyncio.get_running_loop()
    hub = await _hub_of(loop)
    server = URL(address).origin()
    route = hub.routes.get((server, timeouts))
    if route is None:
        proxy, auth = _proxy_for(server)
        route = Route(hub, ClientRequest("POST", server, loop=loop, proxy=proxy, proxy_auth=auth), timeouts)
        hub.routes[server, timeouts] = route
    return route


def _proxy_for(url: "URL") -> "tuple[URL | None, BasicAuth | None]":
    from aiohttp.helpers import get_env_proxy_for_url

    if url.host not in ("localhost", "127.0.0.1", "::1"):
        with suppress(LookupError):
            return get_env_proxy_for_url(url)
    return None, None


class Wait:
    """A wait for bytes that may take only so long."""

    __slots__ = ("_limit", "_transport", "given_up", "until")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._limit = 0.0
        self.until = float("inf")
        self.given_up = False

    def begin(self, limit: float) -> None:
        """It begins."""
        self._limit = limit
        self.until = monotonic() + limit

    def rest(self) -> None:
        """Something came."""
        self.until = float("inf")

    def give_up(self) -> None:
        """It has taken too long: whoever waits is woken by the end of the connection."""
        self.given_up = True
        self._transport.abort()

    def why(self, error: BaseException | None) -> str:
        """Why nothing came."""
        if self.given_up:
            return f"nothing came for {self._limit:g} seconds"
        return " ".join(str(error).split()) or "the connection was closed"


class Exchange:
    """A request that was sent and the answer that is coming in: its head is there, its body follows."""

    __slots__ = ("_connection", "_payload", "_route", "_server", "_wait", "headers", "status")

    def __init__(
        self,
        server: Server,
        route: Route,
        wait: Wait,
        connection: "Connection",
        head: "RawResponseMessage",
        payload: "StreamReader",
    ) -> None:
        self._server = server
        self._route = route
        self._wait = wait
        self._connection: Connection | None = connection
        self._payload = payload
        self.status = head.code
        self.headers: Mapping[str, str] = head.headers

    async def some(self) -> bytes:
        """The next piece of the answer; nothing when it is over."""
        wait = self._wait
        wait.begin(self._route.timeouts.idle)
        try:
            piece = await self._payload.readany()
        except _failures() as error:
            raise broken(self._server, wait.why(error)) from error
        wait.rest()
        if wait.given_up:
            raise broken(self._server, wait.why(None))
        return piece

    async def rest(self, most: int | None = None) -> bytes:
        """All that is left of the answer, or the first `most` bytes of it and a little."""
        pieces: list[bytes] = []
        size = 0
        while (most is None or size < most) and (piece := await self.some()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    async def drain(self) -> None:
        """Wait a moment for the end of the answer, so that the connection can be used again."""
        if not self._payload.at_eof():
            with suppress(ModelError, TimeoutError):
                async with asyncio.timeout(LAST_WORDS):
                    while await self.some():
                        pass

    def leave(self) -> None:
        """Give the connection back, or close it where the answer isn't over. Once: it may be somebody else's by now."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self._route.hub.ended(self._wait)
        if self._payload.at_eof() and _stands(connection):
            self._route.keep(connection)
        else:
            connection.close()


class _HungUp(Exception):
    """The server closed a kept connection instead of answering."""


async def exchange(route: Route, server: Server, request: bytes) -> Exchange:
    """Send a request; gives the answer as soon as its head is there. Whoever gets it has to `leave` it.

    Some servers close connections they said they would keep. What was sent on one of those has most likely not been read, and is
    sent again on a new one: a model that is asked twice has done no harm.
    """
    kept = route.take()
    if kept is not None:
        try:
            return await _exchanged(route, server, kept, request, kept=True)
        except _HungUp:
            pass
    return await _exchanged(route, server, await _connected(route, server), request, kept=False)


async def _exchanged(route: Route, server: Server, connection: "Connection", request: bytes, *, kept: bool) -> Exchange:
    protocol, transport = _ends(connection, server)
    wait = Wait(transport)
    route.hub.watch(wait)
    try:
        protocol.set_response_params(read_until_eof=True)
        transport.write(request)
        wait.begin(route.timeouts.first_byte)
        head, payload = await protocol.read()
        while head.code < 200:  # 1xx announces the answer
            head, payload = await protocol.read()
        wait.rest()
    except BaseException as error:
        route.hub.ended(wait)
        connection.close()
        if isinstance(error, _failures()):
            if kept and not wait.given_up and isinstance(error, _hanging_up()):
                raise _HungUp from error
            raise unanswered(server, wait.why(error)) from error
        raise
    return Exchange(server, route, wait, connection, head, payload)


async def _connected(route: Route, server: Server) -> "Connection":
    try:
        return await route.hub.connector.connect(route.request, [], _client_timeout(route.timeouts.connect))
    except _failures() as error:
        raise unreachable(server, error) from error


def _ends(connection: "Connection", server: Server) -> "tuple[ResponseHandler, asyncio.Transport]":
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None:
        connection.close()
        raise unanswered(server, "the connection was closed")
    return protocol, transport


@cache
def _hanging_up() -> tuple[type[Exception], ...]:
    from aiohttp import ClientOSError, ServerDisconnectedError

    return ServerDisconnectedError, ClientOSError, ConnectionError


@cache
def _failures() -> tuple[type[Exception], ...]:
    from aiohttp import ClientError
    from aiohttp.http_exceptions import HttpProcessingError

    return ClientError, HttpProcessingError, OSError, RuntimeError  # the last where the connection is already gone


@cache
def _client_timeout(connect: float) -> "ClientTimeout":
    from aiohttp import ClientTimeout

    return ClientTimeout(total=None, connect=connect)
