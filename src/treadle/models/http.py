"""How a model's server is asked: one POST, and its answer whole or as it streams. Every failure is a `ModelError`.

Nothing is tried again here, except a request that its server refused for a reason that can be repaired (`repairs`): the engine
decides about that. The wires say what is sent and what the answer means.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from treadle._version import __version__
from treadle.core.errors import ContextTooLong, ModelError, ModelRefused, ReplyBroken, SettingsError
from treadle.core.requests import Delta, Notice, Usage
from treadle.models.exchange import PATIENT, Exchange, Route, Timeouts, close_connections, exchange, route_to
from treadle.models.refusals import Server, is_page, page_error, refused
from treadle.models.repairs import Repair, memory
from treadle.models.splitting import Splitter

MOST_REPAIRS = 5  # of one request; more than one at a time is rare
MOST_OF_A_REFUSAL = 65536  # bytes read of an answer that is no reply


# Headers for one request, by its path with the query and its body: a signature, or a token that is fetched when it is needed.
Authorize = Callable[[str, bytes], Awaitable[Mapping[str, str]]]


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

    def __init__(
        self,
        server: Server,
        *,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = PATIENT,
        authorize: Authorize | None = None,
    ) -> None:
        self._server = server
        self._timeouts = timeouts
        self._authorize = authorize
        self._headers = {
            "user-agent": f"treadle/{__version__}",
            "accept-encoding": "identity",
            "content-type": "application/json",
            **_lower(headers or {}),
        }
        self._route: Route | None = None
        self._heads: dict[tuple[str, str], bytes] = {}
        self._parts = _checked(server.address)
        self._head("", "", "", {})  # says now if a header can't be sent

    async def reply(
        self,
        path: str,
        body: bytes,
        reading: Reading,
        splitter: Splitter | None,
        headers: Mapping[str, str] | None = None,
        rewrite: Callable[[], bytes] | None = None,
        whole_path: str = "",
    ) -> AsyncIterator[Delta]:
        """Ask, and give what `reading` makes of the answer: piece by piece as `splitter` cuts it, or all at once without one.

        `rewrite` writes the body again after a repair that the wire itself takes part in. `whole_path` is asked instead where a
        server doesn't stream, on wires that say it by the path.
        """
        answer, changes = await self._accepted(path, body, headers or {}, rewrite, whole_path)
        for repair in changes:
            span = "from now on" if repair.lasting else "this time"
            yield Notice(f"{self._server.model} at {self._server.host} refused the request as it was: {repair.words} {span}.")
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

    async def _accepted(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        rewrite: Callable[[], bytes] | None,
        whole_path: str,
    ) -> tuple[Exchange, list[Repair]]:
        """Ask, and again where the server's refusal says what to change; what was changed for the first time."""
        new: list[Repair] = []
        while True:
            known = memory.of(self._server.model, self._server.address)
            if new:
                known = (*known, *(repair for repair in new if not repair.lasting))
            sent = _repaired(body, known) if known else body
            asked = whole_path if whole_path and any(repair.kind == "no_stream" for repair in known) else path
            try:
                return await self._ask(asked, sent, headers), new
            except ModelRefused as refusal:
                repair = None if len(new) == MOST_REPAIRS else repair_for(refusal, sent)
                if repair is None or repair in known:
                    memory.remove(self._server.model, self._server.address, new)
                    raise
                if repair.lasting:
                    memory.add(self._server.model, self._server.address, repair)
                new.append(repair)
                body = rewrite() if rewrite is not None else body

    async def _ask(self, path: str, body: bytes, headers: Mapping[str, str]) -> Exchange:
        route = self._route
        if route is None or not route.leads(asyncio.get_running_loop()):
            route = self._route = await route_to(self._server.address, self._timeouts)
        head = await self._head_for(path, body, headers, route)
        answer = await exchange(route, self._server, b"%b%d\r\n\r\n%b" % (head, len(body), body))
        if 200 <= answer.status < 300:
            if not is_page(answer.headers):
                return answer
            answer.leave()
            raise page_error(self._server, answer.status)
        said = b""
        try:
            with suppress(ReplyBroken):  # the status says enough
                said = await answer.rest(MOST_OF_A_REFUSAL)
        finally:
            answer.leave()
        raise refused(self._server, answer.status, answer.headers, said)

    async def _head_for(self, path: str, body: bytes, headers: Mapping[str, str], route: Route) -> bytes:
        """Everything before the length of the body. Made once for a path, unless this request has headers of its own."""
        key = path, route.prefix
        if headers or self._authorize is not None:
            own: Mapping[str, str] = await self._authorize(self._target(path), body) if self._authorize is not None else {}
            return self._head(path, route.prefix, route.proxy_authorization, {**_lower(headers), **own})
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = self._head(path, route.prefix, route.proxy_authorization, {})
        return head

    def _target(self, path: str) -> str:
        """The path and query that are asked for."""
        query = self._parts.query
        joint = "&" if "?" in path else "?"
        return f"{self._parts.path.rstrip('/')}{path}{joint + query if query else ''}"

    def _head(self, path: str, prefix: str, proxy_authorization: str, headers: Mapping[str, str]) -> bytes:
        lines = [f"POST {prefix}{self._target(path)} HTTP/1.1", f"host: {self._parts.netloc}"]
        if proxy_authorization:
            lines.append(f"proxy-authorization: {proxy_authorization}")
        lines += [f"{name}: {value}" for name, value in {**self._headers, **headers}.items()]
        if any("\r" in line or "\n" in line for line in lines) or not all(line.isascii() for line in lines):
            raise SettingsError(f"A header for {self._server.model} has a character that can't be sent; is the key whole?")
        return "\r\n".join([*lines, "content-length: "]).encode()


def repair_for(refusal: ModelRefused, sent: bytes) -> Repair | None:
    """Return what to change after a refusal of the request itself, rather than of the key or the model; None for nothing."""
    if refusal.said is None or refusal.status not in (400, 404, 422):
        return None
    from treadle.models.diagnosis import diagnose, find_room  # most servers never refuse

    if type(refusal) is ContextTooLong:
        return find_room(refusal.said.words, sent)
    return diagnose(refusal.said.words, refusal.said.error, sent) if type(refusal) is ModelRefused else None


def _repaired(body: bytes, repairs: Sequence[Repair]) -> bytes:
    from treadle.models.request_changes import apply  # few servers need it

    return apply(body, repairs)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in headers.items()}


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
