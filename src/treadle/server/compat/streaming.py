"""An answer over HTTP: as one response, or streamed as server-sent events. The API's writer formats it.

A failure before anything was sent is an error with its status; later it is the last event. A client that
disconnects stops the turn.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Protocol

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from treadle.server.compat.agents import TurnContext
from treadle.server.compat.answer import CompatAnswer
from treadle.server.compat.errors import CompatError
from treadle.server.compat.live_turn import CompatTurn
from treadle.server.compat.turn_request import CompatTurnRequest
from treadle.server.compat.turns import TurnManager


class AnswerWriter(Protocol):
    """Writes one answer in an API's format."""

    @property
    def beat(self) -> bytes:
        """The bytes of a heartbeat."""
        ...

    def whole(self, answer: CompatAnswer) -> dict[str, Any]:
        """Return the answer as one response body."""
        ...

    def words(self, text: str) -> bytes:
        """Return the bytes of a piece of text."""
        ...

    def write_end(self, answer: CompatAnswer) -> bytes:
        """Return the bytes that come after all text."""
        ...

    def write_error(self, refused: CompatError) -> bytes:
        """Return the bytes of an error, which ends the stream."""
        ...


async def respond(
    request: Request, desk: TurnManager, asked: CompatTurnRequest, begin: Callable[[str], AnswerWriter], *, stream: bool
) -> Response:
    """Return the response to a request. `begin` returns the writer of an answer, by its id."""
    turn = await desk.turn(asked, TurnContext(str(request.base_url).rstrip("/"), request.scope.get("run_limiter")))
    writing = begin(turn.id)
    if stream:
        return await _stream_response(request, desk, turn, writing)
    try:
        answer = await _until_disconnect(request, _wait_for_answer(turn))
    finally:
        desk.leave(turn)
    return JSONResponse(writing.whole(answer), headers=_headers(answer.run_id))


async def _wait_for_answer(turn: CompatTurn | CompatAnswer) -> CompatAnswer:
    if isinstance(turn, CompatAnswer):
        return turn
    await asyncio.wait([turn.task])
    return turn.task.result()


async def _until_disconnect(request: Request, work: Any) -> Any:
    """Await the work's result until the client disconnects."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())  # all was read, so that nothing else comes
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _stream_response(request: Request, desk: TurnManager, turn: CompatTurn | CompatAnswer, writing: AnswerWriter) -> Response:
    """Return a response that starts with the first piece: a failure before it has a status of its own."""
    pieces = _ChunkReader(turn, desk.beat)
    try:
        await _until_disconnect(request, pieces.first())
    except BaseException:
        await pieces.close()
        desk.leave(turn)
        raise
    return _TurnStreamResponse(desk, turn, pieces, writing)


class _ChunkReader:
    """Reads the pieces of a turn, one at a time; None after a period of silence."""

    def __init__(self, turn: CompatTurn | CompatAnswer, patience: float) -> None:
        self._patience = patience  # seconds
        self._source = turn.pieces() if isinstance(turn, CompatTurn) else _replay_answer(turn)
        self._next: asyncio.Future[str | CompatAnswer] | None = None

    async def first(self) -> None:
        """Wait for the first piece, which is taken later. Raises what `next` would."""
        await self._wait()
        if self._next is not None and self._next.done():
            self._next.result()

    async def next(self) -> str | CompatAnswer | None:
        """Return the next piece."""
        if not await self._wait():
            return None
        assert self._next is not None  # it was waited for
        piece, self._next = self._next.result(), None
        return piece

    async def _wait(self) -> bool:
        if self._next is None:
            self._next = asyncio.ensure_future(_next_item(self._source))
        return bool((await asyncio.wait([self._next], timeout=self._patience))[0])

    async def close(self) -> None:
        """Stop reading."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
            if not self._next.cancelled():
                self._next.exception()


async def _replay_answer(answer: CompatAnswer) -> AsyncGenerator[str | CompatAnswer]:
    words = answer.text.removesuffix(answer.tail)
    if words:
        yield words
    yield answer


async def _next_item(source: AsyncIterator[str | CompatAnswer]) -> str | CompatAnswer:
    return await anext(source)


class _TurnStreamResponse(StreamingResponse):
    def __init__(self, desk: TurnManager, turn: CompatTurn | CompatAnswer, pieces: _ChunkReader, writing: AnswerWriter) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no", **_headers(turn.run_id)}
        super().__init__(_iter_events(pieces, writing), media_type="text/event-stream", headers=headers)
        self._desk = desk
        self._turn = turn
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; at the end, or when the client disconnects, leave the turn."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._desk.leave(self._turn)
            await self._pieces.close()


async def _iter_events(pieces: _ChunkReader, writing: AnswerWriter) -> AsyncGenerator[bytes]:
    try:
        while not isinstance(piece := await pieces.next(), CompatAnswer):
            yield writing.beat if piece is None else writing.words(piece)
    except CompatError as refused:
        yield writing.write_error(refused)
        return
    if piece.tail:
        yield writing.words(piece.tail)
    yield writing.write_end(piece)


def _headers(run_id: str) -> dict[str, str]:
    """Return the headers in which both official clients look for a request id, for support questions later."""
    return {"x-request-id": run_id, "request-id": run_id}


def format_event(data: Any, name: str = "") -> bytes:
    """Format a server-sent event."""
    line = b"data: %b\n\n" % (data if isinstance(data, bytes) else msgspec.json.encode(data))
    return b"event: %b\n%b" % (name.encode(), line) if name else line
