"""Requests to a model's server: one POST, and its response complete or streamed. Every failure is a `ModelError`.

Nothing is retried here, except a request that its server refused for a reason that can be repaired (`repairs`): the engine
decides about retries. The wires define what is sent and how the response is read.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from time import monotonic
from typing import NoReturn, Protocol
from urllib.parse import SplitResult, urlsplit

from treadle._version import __version__
from treadle.core.errors import ContextTooLong, ModelError, ModelRefused, ReplyBroken, SettingsError
from treadle.core.requests import Delta, Notice, Progress, TextDelta, ThinkingDelta, Usage
from treadle.models.connections import (
    DEFAULT_TIMEOUTS,
    HttpExchange,
    ServerRoute,
    Timeouts,
    close_connections,
    find_route,
    send_request,
)
from treadle.models.repairs import Repair, repair_memory
from treadle.models.server_errors import ServerIdentity, error_from_response, html_page_error
from treadle.models.stream_splitters import StreamSplitter

MAX_REPAIRS = 5  # of one request; more than one at a time is rare
REPORT_SECONDS = 0.2  # between two reports of what has been written
CHARACTERS_PER_TOKEN = 4  # of most text
MAX_ERROR_BODY = 65536  # bytes read of an answer that is no reply


# Headers for one request, by its path with the query and its body: a signature, or a token that is fetched when it is needed.
Authorize = Callable[[str, bytes], Awaitable[Mapping[str, str]]]


class ReplyReader(Protocol):
    """Protocol: what a wire makes of one reply, as its payloads arrive."""

    @property
    def ended(self) -> bool:
        """Whether the server has said that nothing more comes."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the model has stated why it stopped: then the reply is complete, whatever happens to the connection."""
        ...

    @property
    def usage(self) -> Usage:
        """Token counts so far."""
        ...

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return the deltas in some payloads of a stream."""
        ...

    def whole(self, body: bytes) -> Iterable[Delta]:
        """Return the deltas of a reply that wasn't streamed."""
        ...

    def end(self) -> Iterator[Delta]:
        """Return the deltas left at the end of the stream; raise `ReplyBroken` if it ended too early."""
        ...


class WritingMeter:
    """Reports how many tokens of a stream have come, from its first delta on and a few times a second.

    A payload has at least one token, also where the wire holds it back because it belongs to a call; some servers send several.
    """

    def __init__(self, report: Callable[[Progress], None], clock: Callable[[], float] = monotonic) -> None:
        self._report = report
        self._clock = clock
        self._reported = 0.0
        self._characters = -1  # until the first delta
        self._payloads = 0

    def add(self, delta: Delta) -> None:
        """Add what a delta has of the reply's text."""
        text = delta.text if isinstance(delta, TextDelta | ThinkingDelta) else ""
        self._characters = max(self._characters, 0) + len(text)

    def count(self, payloads: int) -> None:
        """Count payloads, and report if that is due."""
        if self._characters < 0:
            return
        self._payloads += payloads
        now = self._clock()
        if now - self._reported >= REPORT_SECONDS:
            self._reported = now
            self._report(Progress("writing", max(self._payloads, self._characters // CHARACTERS_PER_TOKEN)))


class ModelEndpoint:
    """A server's URL with the headers that every request to it has."""

    def __init__(
        self,
        server: ServerIdentity,
        *,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        authorize: Authorize | None = None,
    ) -> None:
        self._server = server
        self._timeouts = timeouts
        self._authorize = authorize
        self._headers = {
            "user-agent": f"treadle/{__version__}",
            "accept-encoding": "identity",
            "content-type": "application/json",
            **_lowercase_names(headers or {}),
        }
        self._route: ServerRoute | None = None
        self._starts: dict[tuple[str, str, tuple[str, ...]], bytes] = {}
        parts = _check_address(server.address)
        self._netloc, self._base_path, self._query = parts.netloc, parts.path.rstrip("/"), parts.query
        self._encode_start("", "", "", ())  # says now if a header can't be sent

    def reply(
        self,
        path: str,
        body: bytes,
        reading: ReplyReader,
        splitter: StreamSplitter | None,
        headers: Mapping[str, str] | None = None,
        rewrite: Callable[[], bytes] | None = None,
        whole_path: str = "",
        progress: Callable[[Progress], None] | None = None,
    ) -> AsyncIterator[Delta]:
        """Send a request and stream what `reading` makes of the response: as `splitter` splits it, or all at once without one.

        `rewrite` writes the body again after a repair that the wire itself takes part in. `whole_path` is used instead for a server
        that doesn't stream, on wires that choose streaming by the path. `progress` is told how much has been written.
        """
        asked = path, body, headers or {}, rewrite, whole_path
        if splitter is None:
            return _WholeReply(self, asked, reading)
        return self._stream(asked, reading, splitter, None if progress is None else WritingMeter(progress))

    def announce(self, repair: Repair) -> Notice:
        """Return the notice about a repair of a request."""
        span = "from now on" if repair.lasting else "this time"
        return Notice(f"{self._server.model} at {self._server.host} refused the request as it was: {repair.words} {span}.")

    async def _stream(
        self, asked: "_Asked", reading: ReplyReader, splitter: StreamSplitter, meter: WritingMeter | None
    ) -> AsyncIterator[Delta]:
        answer, changes = await self.send(*asked)
        for repair in changes:
            yield self.announce(repair)
        try:
            if answer.headers.get("content-type", "").startswith("application/json"):
                rest = reading.whole(await answer.rest())
            else:
                while not reading.ended and (piece := await _read_some(answer, reading)):
                    payloads = splitter.feed(piece)
                    for delta in reading.read(payloads):
                        if meter is not None:
                            meter.add(delta)
                        yield delta
                    if meter is not None:
                        meter.count(len(payloads))
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

    async def send(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        rewrite: Callable[[], bytes] | None,
        whole_path: str,
    ) -> tuple[HttpExchange, list[Repair]]:
        """Send the request, and again if the server's refusal says what to change; return the new changes too."""
        new: list[Repair] = []
        while True:
            known = repair_memory.of(self._server.model, self._server.address)
            if new:
                known = (*known, *(repair for repair in new if not repair.lasting))
            sent = _apply_repairs(body, known) if known else body
            asked = whole_path if whole_path and any(repair.kind == "no_stream" for repair in known) else path
            try:
                answer = await self._exchange(asked, sent, headers)
                if 200 <= answer.status < 300 and not answer.is_web_page:
                    return answer, new
                await self._refuse(answer)
            except ModelRefused as refusal:
                repair = None if len(new) == MAX_REPAIRS else find_repair(refusal, sent)
                if repair is None or repair in known:
                    repair_memory.remove(self._server.model, self._server.address, new)
                    raise
                if repair.lasting:
                    repair_memory.add(self._server.model, self._server.address, repair)
                new.append(repair)
                body = rewrite() if rewrite is not None else body

    def _exchange(self, path: str, body: bytes, headers: Mapping[str, str]) -> Awaitable[HttpExchange]:
        """Send one request. No coroutine of its own where the route is known and the head is that of all requests."""
        route = self._route
        if route is None or headers or self._authorize is not None or not route.leads(asyncio.get_running_loop()):
            return self._exchange_with_own_head(path, body, headers)
        return send_request(route, self._server, b"%b%d\r\n\r\n" % (self._get_start(path, route, ()), len(body)), body)

    async def _exchange_with_own_head(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpExchange:
        route = self._route
        if route is None or not route.leads(asyncio.get_running_loop()):
            route = self._route = await find_route(self._server.address, self._timeouts)
        head = await self._build_own_head(path, body, headers, route)
        return await send_request(route, self._server, b"%b%d\r\n\r\n" % (head, len(body)), body)

    async def _refuse(self, answer: HttpExchange) -> NoReturn:
        """Raise what an answer says that is no success, or a web page in place of one."""
        if 200 <= answer.status < 300:
            answer.leave()
            raise html_page_error(self._server, answer.status)
        said = b""
        try:
            with suppress(ReplyBroken):  # the status says enough
                said = await answer.rest(MAX_ERROR_BODY)
        finally:
            answer.leave()
        raise error_from_response(self._server, answer.status, answer.headers, said)

    async def _build_own_head(self, path: str, body: bytes, headers: Mapping[str, str], route: ServerRoute) -> bytes:
        """Return everything before the length of the body, for a request that has headers of its own."""
        own: Mapping[str, str] = await self._authorize(self._request_target(path), body) if self._authorize is not None else {}
        fields = {**_lowercase_names(headers), **own} if headers else own
        if not fields:
            return self._get_start(path, route, ())
        lines = self._check_lines([f"{name}: {value}" for name, value in fields.items()])
        return b"%b%b\r\ncontent-length: " % (self._get_start(path, route, tuple(fields)), lines)

    def _get_start(self, path: str, route: ServerRoute, without: tuple[str, ...]) -> bytes:
        """Return the head with the fields that all requests have, except for these; without any, up to the length. Cached."""
        key = path, route.prefix, without
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self._encode_start(path, route.prefix, route.proxy_authorization, without)
        return start

    def _request_target(self, path: str) -> str:
        """Return the path and query of the request."""
        if not self._query:
            return self._base_path + path
        return f"{self._base_path}{path}{'&' if '?' in path else '?'}{self._query}"

    def _encode_start(self, path: str, prefix: str, proxy_authorization: str, without: tuple[str, ...]) -> bytes:
        lines = [f"POST {prefix}{self._request_target(path)} HTTP/1.1", f"host: {self._netloc}"]
        if proxy_authorization:
            lines.append(f"proxy-authorization: {proxy_authorization}")
        lines += [f"{name}: {value}" for name, value in self._headers.items() if name not in without]
        return self._check_lines(lines) + (b"\r\n" if without else b"\r\ncontent-length: ")

    def _check_lines(self, lines: list[str]) -> bytes:
        """Encode lines of a head. Raises `SettingsError` for one that can't be sent, or that would be several."""
        text, ends = "\r\n".join(lines), len(lines) - 1
        if not text.isascii() or text.count("\r") != ends or text.count("\n") != ends:
            raise SettingsError(f"A header for {self._server.model} has a character that can't be sent; is the key whole?")
        return text.encode()


_Asked = tuple[str, bytes, Mapping[str, str], Callable[[], bytes] | None, str]  # what `send` gets


class _WholeReply:
    """The deltas of a reply that comes in one piece.

    No generator: the event loop keeps account of each of those, which costs as much as reading the reply.
    """

    __slots__ = ("_asked", "_deltas", "_endpoint", "_reading")

    def __init__(self, endpoint: ModelEndpoint, asked: _Asked, reading: ReplyReader) -> None:
        self._endpoint = endpoint
        self._asked = asked
        self._reading = reading
        self._deltas: Iterator[Delta] | None = None

    def __aiter__(self) -> "_WholeReply":
        return self

    async def __anext__(self) -> Delta:
        if self._deltas is None:
            answer, changes = await self._endpoint.send(*self._asked)
            try:
                deltas = self._reading.whole(answer.take_complete() or await answer.rest())
            except ModelError as error:  # after the notices
                deltas = _raise_later(error)
            finally:
                answer.leave()
            self._deltas = self._read(changes, deltas)
        for delta in self._deltas:
            return delta
        raise StopAsyncIteration

    def take_arrived(self) -> Iterable[Delta]:
        """Return the deltas that have arrived: all others, once the first one was awaited."""
        return self._deltas or ()

    def _read(self, changes: list[Repair], deltas: Iterable[Delta]) -> Iterator[Delta]:
        for repair in changes:
            yield self._endpoint.announce(repair)
        try:
            yield from deltas
        except ModelError as error:
            error.usage = error.usage or self._reading.usage
            raise


def _raise_later(error: ModelError) -> Iterator[Delta]:
    """Raise an error where the first delta would come."""
    raise error
    yield


def find_repair(refusal: ModelRefused, sent: bytes) -> Repair | None:
    """Return the repair after a refusal of the request itself, rather than of the key or the model; None if there is none."""
    if refusal.said is None or refusal.status not in (400, 404, 422):
        return None
    from treadle.models.diagnosis import diagnose_refusal, find_token_limit  # most servers never refuse

    if type(refusal) is ContextTooLong:
        return find_token_limit(refusal.said.words, sent)
    return diagnose_refusal(refusal.said.words, refusal.said.error, sent) if type(refusal) is ModelRefused else None


def _apply_repairs(body: bytes, repairs: Sequence[Repair]) -> bytes:
    from treadle.models.request_changes import apply_repairs  # few servers need it

    return apply_repairs(body, repairs)


def _lowercase_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in headers.items()}


def _check_address(address: str) -> SplitResult:
    parts = urlsplit(address)
    try:
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or too large a one
        fine = False
    if not fine:
        raise SettingsError(f"{address!r} is no address of a server; write it as http://host:port/path.")
    return parts


async def _read_some(answer: HttpExchange, reading: ReplyReader) -> bytes:
    """Return the next piece of a stream. A connection that breaks after the model has finished has only ended a little early."""
    try:
        return await answer.some()
    except ReplyBroken:
        if reading.finished:
            return b""
        raise


async def close_model_connections() -> None:
    """Close the connections that models keep open in this event loop. They close by themselves when it ends."""
    await close_connections()
