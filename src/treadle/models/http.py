"""How a model's server is asked: one POST, and its answer whole or as it streams. Every failure is a `ModelError`.

Nothing is tried again here: the engine decides that. The wires (`openai`, `anthropic`, `ollama`) say what is sent and
what the answer means.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from treadle._version import __version__
from treadle.core.errors import ModelError, ReplyBroken, SettingsError
from treadle.core.requests import Delta, Usage
from treadle.models.exchange import PATIENT, Exchange, Route, Timeouts, close_connections, exchange, route_to
from treadle.models.refusals import Server, refused
from treadle.models.splitting import Splitter

MOST_OF_A_REFUSAL = 65536  # bytes read of an answer that is no reply


class Reading(Protocol):
    """What a wire makes of one reply, as its payloads arrive."""

    @property
    def ended(self) -> bool:
        """Whether the server has said that nothing more comes."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the model has said why it stopped: then the reply is complete, whatever becomes of the connection."""
        ...

    @property
    def usage(self) -> Usage:
        """What the server has counted so far."""
        ...

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """The deltas in some payloads of a stream."""
        ...

    def whole(self, body: bytes) -> Iterator[Delta]:
        """The deltas of a reply that came in one."""
        ...

    def end(self) -> Iterator[Delta]:
        """The deltas left when the stream is over; `ReplyBroken` where it ended too early."""
        ...


class Endpoint:
    """A server's address with what every request to it carries."""

    def __init__(self, server: Server, *, headers: Mapping[str, str] | None = None, timeouts: Timeouts = PATIENT) -> None:
        self._server = server
        self._timeouts = timeouts
        self._headers = {
            "user-agent": f"treadle/{__version__}",
            "accept-encoding": "identity",
            "content-type": "application/json",
            **{name.lower(): value.strip() for name, value in (headers or {}).items()},
        }
        self._route: Route | None = None
        self._heads: dict[tuple[str, str], bytes] = {}
        self._parts = _checked(server.address)
        self._head("", "", "")  # says now if a header can't be sent

    async def reply(self, path: str, body: bytes, reading: Reading, splitter: Splitter | None) -> AsyncIterator[Delta]:
        """Ask, and give what `reading` makes of the answer: piece by piece as `splitter` cuts it, or all at once without one."""
        answer = await self._ask(path, body)
        try:
            if splitter is None or answer.headers.get("content-type", "").startswith("application/json"):
                rest = reading.whole(await answer.rest())
            else:
                while not reading.ended and (piece := await _some(answer, reading)):
                    for delta in reading.read(splitter.feed(piece)):
                        yield delta
                await answer.drain()
                rest = chain(reading.read([] if reading.finished else splitter.close()), reading.end())
            answer.leave()
            for delta in rest:
                yield delta
        except ModelError as error:
            error.usage = error.usage or reading.usage
            raise
        finally:
            answer.leave()

    async def _ask(self, path: str, body: bytes) -> Exchange:
        route = self._route
        if route is None or not route.leads(asyncio.get_running_loop()):
            route = self._route = await route_to(self._server.address, self._timeouts)
        head = self._heads.get((path, route.prefix)) or self._head(path, route.prefix, route.proxy_authorization)
        answer = await exchange(route, self._server, b"%b%d\r\n\r\n%b" % (head, len(body), body))
        if 200 <= answer.status < 300:
            return answer
        said = b""
        try:
            with suppress(ReplyBroken):  # the status says enough
                said = await answer.rest(MOST_OF_A_REFUSAL)
        finally:
            answer.leave()
        raise refused(self._server, answer.status, answer.headers, said)

    def _head(self, path: str, prefix: str, proxy_authorization: str) -> bytes:
        """Everything before the length of the body, for a path."""
        parts = self._parts
        query = f"?{parts.query}" if parts.query else ""
        lines = [f"POST {prefix}{parts.path.rstrip('/')}{path}{query} HTTP/1.1", f"host: {parts.netloc}"]
        if proxy_authorization:
            lines.append(f"proxy-authorization: {proxy_authorization}")
        lines += [f"{name}: {value}" for name, value in self._headers.items()]
        if any("\r" in line or "\n" in line for line in lines) or not all(line.isascii() for line in lines):
            raise SettingsError(f"A header for {self._server.model} has a character that can't be sent; is the key whole?")
        head = "\r\n".join([*lines, "content-length: "]).encode()
        self._heads[path, prefix] = head
        return head


def _checked(address: str) -> SplitResult:
    parts = urlsplit(address)
    try:
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or too large a one
        fine = False
    if not fine:
        raise SettingsError(f"{address!r} is no address of a server; write it as http://host:port/path.")
    return parts


async def _some(answer: Exchange, reading: Reading) -> bytes:
    """The next piece of a stream. A connection that breaks after the model has finished has only ended a little early."""
    try:
        return await answer.some()
    except ReplyBroken:
        if reading.finished:
            return b""
        raise


async def close_all() -> None:
    """Close the connections that the models keep open in this event loop. They close by themselves when it ends."""
    await close_connections()
