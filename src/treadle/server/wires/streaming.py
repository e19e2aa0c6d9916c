"""An answer over HTTP: whole, or piece by piece as server-sent events. How a piece is written says the wire.

What fails before anything was said is an error with its status; later it is the last event. A caller that leaves stops the turn.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Protocol

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from treadle.server.wires.answer import Answer
from treadle.server.wires.asked import Asked
from treadle.server.wires.desk import Desk
from treadle.server.wires.making import Told
from treadle.server.wires.refused import Refused
from treadle.server.wires.turn import Turn


class Writing(Protocol):
    """How a wire writes one answer."""

    @property
    def beat(self) -> bytes:
        """A sign of life."""
        ...

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The answer in one."""
        ...

    def words(self, text: str) -> bytes:
        """A piece of what is said."""
        ...

    def ended(self, answer: Answer) -> bytes:
        """What comes after all words."""
        ...

    def failed(self, refused: Refused) -> bytes:
        """That there will be no more."""
        ...


async def answered(request: Request, desk: Desk, asked: Asked, begin: Callable[[str], Writing], *, stream: bool) -> Response:
    """The response to a request. `begin` gives what writes the answer by an id."""
    turn = await desk.turn(asked, Told(str(request.base_url).rstrip("/"), request.scope.get("turnstile")))
    writing = begin(turn.id)
    if stream:
        return await _streamed(request, desk, turn, writing)
    try:
        answer = await _while_there(request, _answer(turn))
    finally:
        desk.leave(turn)
    return JSONResponse(writing.whole(answer), headers=_headers(answer.run_id))


async def _answer(turn: Turn | Answer) -> Answer:
    if isinstance(turn, Answer):
        return turn
    await asyncio.wait([turn.task])
    return turn.task.result()


async def _while_there(request: Request, work: Any) -> Any:
    """The work's result, for as long as somebody waits for it."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())  # all was read, so that nothing else comes
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _streamed(request: Request, desk: Desk, turn: Turn | Answer, writing: Writing) -> Response:
    """A response that begins with the first piece: what fails before it has a status of its own."""
    pieces = _Pieces(turn, desk.beat)
    try:
        await _while_there(request, pieces.first())
    except BaseException:
        await pieces.close()
        desk.leave(turn)
        raise
    return _Streamed(desk, turn, pieces, writing)


class _Pieces:
    """The pieces of a turn, one at a time; None where nothing came for a while."""

    def __init__(self, turn: Turn | Answer, patience: float) -> None:
        self._patience = patience  # seconds
        self._source = turn.pieces() if isinstance(turn, Turn) else _only(turn)
        self._next: asyncio.Future[str | Answer] | None = None

    async def first(self) -> None:
        """Wait for the first one, which is taken later. Raises what `next` would."""
        await self._wait()
        if self._next is not None and self._next.done():
            self._next.result()

    async def next(self) -> str | Answer | None:
        """The next one."""
        if not await self._wait():
            return None
        assert self._next is not None  # it was waited for
        piece, self._next = self._next.result(), None
        return piece

    async def _wait(self) -> bool:
        if self._next is None:
            self._next = asyncio.ensure_future(_following(self._source))
        return bool((await asyncio.wait([self._next], timeout=self._patience))[0])

    async def close(self) -> None:
        """Nobody listens any more."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
            if not self._next.cancelled():
                self._next.exception()


async def _only(answer: Answer) -> AsyncGenerator[str | Answer]:
    words = answer.text.removesuffix(answer.tail)
    if words:
        yield words
    yield answer


async def _following(source: AsyncIterator[str | Answer]) -> str | Answer:
    return await anext(source)


class _Streamed(StreamingResponse):
    def __init__(self, desk: Desk, turn: Turn | Answer, pieces: _Pieces, writing: Writing) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no", **_headers(turn.run_id)}
        super().__init__(_events(pieces, writing), media_type="text/event-stream", headers=headers)
        self._desk = desk
        self._turn = turn
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; at the end, or when nobody reads any more, leave."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._desk.leave(self._turn)
            await self._pieces.close()


async def _events(pieces: _Pieces, writing: Writing) -> AsyncGenerator[bytes]:
    try:
        while not isinstance(piece := await pieces.next(), Answer):
            yield writing.beat if piece is None else writing.words(piece)
    except Refused as refused:
        yield writing.failed(refused)
        return
    if piece.tail:
        yield writing.words(piece.tail)
    yield writing.ended(piece)


def _headers(run_id: str) -> dict[str, str]:
    """Where both official clients look for what a person may ask about later."""
    return {"x-request-id": run_id, "request-id": run_id}


def event(data: Any, name: str = "") -> bytes:
    """A server-sent event."""
    line = b"data: %b\n\n" % (data if isinstance(data, bytes) else msgspec.json.encode(data))
    return b"event: %b\n%b" % (name.encode(), line) if name else line
