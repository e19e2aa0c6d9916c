"""A model's server on loopback that speaks two wires and fails as told, and a record of every request it got."""

import asyncio
import socket
import struct
from collections import defaultdict
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from bench.model_faults.fates import FINE, WITHIN, Fate
from bench.model_faults.orders import order_in, reply_to
from bench.model_faults.wires import NOTHING, Message, Tokens, answered, failure_within, refused

END_OF_HEAD = b"\r\n\r\n"
OUTAGE = 0.03  # seconds in which nobody listens
PAUSE = 0.003  # seconds between two pieces, where there is a pause
NOW_RESET = struct.pack("ii", 1, 0)  # close without goodbye

Fates = Callable[[str, int], Fate]


class Asked(Struct):
    """A request that came in.

    told      what whoever asked may have been told of the tokens
    headless  no head of an answer was sent; on a connection that was used before, a client sends the same once more
    """

    fate: Fate
    at: float
    told: frozenset[Tokens] = frozenset((NOTHING,))
    headless: bool = False


class FaultyServer:
    """Listens while it is entered. `asked` has the requests of each order."""

    def __init__(self, fates: Fates) -> None:
        self.asked: defaultdict[str, list[Asked]] = defaultdict(list)
        self.fates = fates
        self.port = 0
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._outage: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "FaultyServer":
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._outage is not None:
            await self._outage
        await self._close(busy=True)

    @property
    def count(self) -> int:
        """How many requests came in."""
        return sum(len(asked) for asked in self.asked.values())

    def go_away(self) -> None:
        """Listen to nobody for a moment, and close the connections that aren't in use."""
        if self._outage is None or self._outage.done():
            self._outage = asyncio.create_task(self._away())

    async def _away(self) -> None:
        await self._close(busy=False)
        await asyncio.sleep(OUTAGE)
        await self._listen()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), "127.0.0.1", self.port, reuse_address=True, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self, *, busy: bool) -> None:
        """Stop listening, and close the connections; those in use, too, where that is wanted."""
        assert self._server is not None, "it listened"
        asyncio.get_running_loop().remove_reader(self._server.sockets[0].fileno())
        for _ in range(3):  # who was let in already has to be in before the door is closed, or asyncio forgets them
            await asyncio.sleep(0)
        self._server.close()
        for each in list(self.connections):
            if busy or not each.busy:
                each.end()


class Connection(asyncio.Protocol):
    """One connection: a request at a time, answered as its fate wants it."""

    def __init__(self, server: FaultyServer) -> None:
        self._server = server
        self._buffer = b""
        self.busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._server.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a request is whole."""
        self._buffer += data
        head, found, body = self._buffer.partition(END_OF_HEAD)
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if found and len(body) >= length:
            self._buffer, self.busy = b"", True
            self._answer("anthropic" if b"/v1/messages" in head else "openai", body)

    def _answer(self, wire: str, body: bytes) -> None:
        order = order_in(body)
        known = self._server.asked[order.name]
        fate = self._server.fates(order.name, len(known) + 1)
        asked = Asked(fate, monotonic())
        known.append(asked)
        if fate.status:
            return self._write(refused(wire, fate.status, dict(fate.asks)), self._done)
        said = reply_to(body, order, len(known))
        message = answered(wire, said, stream=b'"stream":true' in body.replace(b" ", b""))
        if fate.kind == FINE:
            asked.told = frozenset((said.tokens,))
            return self._write(message.data, self._done, fate, cut=int(fate.share * len(message.data)))
        return self._fail(wire, message, asked)

    def _fail(self, wire: str, message: Message, asked: Asked) -> None:
        fate = asked.fate
        end = fate.at if fate.at is not None else _end(message, fate)
        asked.told = message.told(end)
        asked.headless = end < message.head
        data = message.data[:end]
        match fate.kind.split()[0]:
            case "failure":
                return self._write(data + failure_within(wire), self.end, fate, cut=end)
            case "silence":
                return self._write(data, _nothing)
            case "connection":
                self._server.go_away()
                return self.end()
            case "reset":
                return self._write(data, self._reset, fate)
            case _:
                return self._write(data, self.end, fate)

    def _write(self, data: bytes, then: Callable[[], None], fate: Fate | None = None, cut: int | None = None) -> None:
        """Write, in two pieces where there is to be a pause, and do what comes then."""
        if fate is None or not fate.pause:
            self._transport.write(data)
            return then()
        first = len(data) if cut is None else cut
        self._transport.write(data[:first])
        asyncio.get_running_loop().call_later(PAUSE, self._rest, data[first:], then)
        return None

    def _rest(self, data: bytes, then: Callable[[], None]) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)
            then()

    def _done(self) -> None:
        self.busy = False

    def end(self) -> None:
        """Close it, politely."""
        self._transport.close()

    def _reset(self) -> None:
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOW_RESET)
        self._transport.abort()


def _end(message: Message, fate: Fate) -> int:
    """After how many bytes a fault comes; one that is told in the stream comes between two pieces of it."""
    if fate.kind not in WITHIN:
        return 0
    if not fate.kind.startswith("failure"):
        return message.head + int(fate.share * (len(message.data) - message.head))
    pieces = 1 + int(fate.share * (len(message.pieces) - 1))
    return sum(len(piece.data) for piece in message.pieces[:pieces])


def _nothing() -> None:
    """And that was that."""
