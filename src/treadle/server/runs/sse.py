"""The stream of server-sent events (SSE) of one reader: first the journal, then live events, without duplicates or gaps.

The broadcast says where both meet (`JournalMark`); after a break a reader continues at its cursor, if that is still
valid.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from starlette.responses import StreamingResponse
from starlette.types import Send

from treadle.server.metrics import ServerMetrics
from treadle.server.runs.broadcast import Broadcast, BroadcastItem, merge_text_items
from treadle.server.runs.events import EventsMissed, encode
from treadle.server.runs.journal_stream import HOLD_SECONDS, EventCursor, JournalStream, extent_of, format_sse, read_journals_for
from treadle.server.runs.live_turns import LiveTurns

HEARTBEAT_SECONDS = 15.0  # seconds of silence after which a sign of life is sent
GATHER_SECONDS = 0.0002  # seconds for each reader there is, in which events are gathered before they are sent
MAX_GATHER_SECONDS = 0.1  # seconds that they are gathered at most


def parse_cursor(said: str) -> EventCursor | None:
    """Parse a reader's cursor; return None where there is none. An invalid one becomes a cursor of an unknown epoch."""
    epoch, _, number = said.rpartition("-")
    if not said:
        return None
    return EventCursor(epoch, int(number)) if number.isascii() and number.isdecimal() and len(number) < 16 else EventCursor("", 0)


class StreamStart(Struct, frozen=True):
    """What a reader is sent first, and after which event of the broadcast it then continues. Without a broadcast, that is all."""

    telling: JournalStream | None = None
    broadcast: Broadcast | None = None
    number: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to send, and nothing will come."""
        if self.telling is not None and not self.telling.is_nothing:
            return False
        return self.broadcast is None or (self.broadcast.is_over and self.number >= self.broadcast.last)


ReplyData = Callable[[], Awaitable[Any]]


async def no_data() -> None:
    """Return None: for runs whose assistant adds no data to its answers."""


async def open_stream(
    live: LiveTurns, run_id: str, place: EventCursor | None, held: float = HOLD_SECONDS, data: ReplyData = no_data
) -> StreamStart:
    """Return where a reader starts: after its cursor, if that is valid and what follows is buffered; else with everything.

    `data` returns what accompanies the last answer, where only a journal has it.
    """
    broadcast = live.broadcast(run_id)
    if broadcast is not None and place is not None and _continues(place, broadcast):
        return StreamStart(None, broadcast, place.number)
    while True:
        before = _idle_state(live, run_id)
        start = await _start_from_journal(live, run_id, place, held, data)
        if start is not None and (start.broadcast is not None or (before is not None and before == _idle_state(live, run_id))):
            return start


def _continues(place: EventCursor, broadcast: Broadcast) -> bool:
    return place.epoch == broadcast.epoch and broadcast.first - 1 <= place.number <= broadcast.last


def _idle_state(live: LiveTurns, run_id: str) -> tuple[str, int] | None:
    """Return a value that changes with each turn in between; None while a turn is active."""
    broadcast = live.broadcast(run_id)
    if broadcast is None:
        return "", 0
    return (broadcast.epoch, broadcast.last) if broadcast.is_over else None


async def _start_from_journal(
    live: LiveTurns, run_id: str, place: EventCursor | None, held: float, data: ReplyData
) -> StreamStart | None:
    """Return a start from the journal, up to where the live events continue. None where it was read too long ago."""
    journals, said = await read_journals_for(live, run_id), None if live.is_under_way(run_id) else await data()
    broadcast = live.broadcast(run_id)
    if broadcast is None or broadcast.is_over:
        return StreamStart(JournalStream(live, extent_of(run_id, journals), journals, place, held, said))
    mark = broadcast.meeting(len(journals[run_id]))
    if mark is None:
        return None
    return StreamStart(
        JournalStream(live, extent_of(run_id, journals, mark.position), journals, place, held), broadcast, mark.number
    )


async def stream_lines(start: StreamStart, figures: ServerMetrics, beat: float = HEARTBEAT_SECONDS) -> AsyncGenerator[bytes]:
    """Yield everything that a reader is sent."""
    if start.telling is not None:
        async with aclosing(start.telling.pieces()) as pieces:
            async for count, piece in pieces:
                figures.events_sent += count
                yield piece
    if start.broadcast is not None:
        async with aclosing(_follow_broadcast(start.broadcast, start.number, figures, beat)) as lines:
            async for each in lines:
                yield each


async def _follow_broadcast(broadcast: Broadcast, number: int, figures: ServerMetrics, beat: float) -> AsyncGenerator[bytes]:
    """Yield what happens after an event, until nothing more will come."""
    with figures.reading():
        while True:
            try:
                async with asyncio.timeout(beat):
                    has_more = await broadcast.news(number)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if not has_more:
                return
            await asyncio.sleep(min(figures.readers * GATHER_SECONDS, MAX_GATHER_SECONDS))
            missed, items = broadcast.since(number)
            number = items[-1].number
            figures.events_sent += len(items)
            yield _format_items(broadcast.epoch, missed, items)


def _format_items(epoch: str, missed: int, items: list[BroadcastItem]) -> bytes:
    lines = [format_sse(EventCursor(epoch, item.number), item.data) for item in merge_text_items(items)]
    if missed:
        lines.insert(0, format_sse(EventCursor(epoch, items[0].number - 1), encode(EventsMissed(count=missed))))
    return b"".join(lines)


class SseResponse(StreamingResponse):
    """A streaming response that closes its source as soon as the client disconnects."""

    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(lines, media_type="text/event-stream", headers=headers)
        self._lines = lines

    async def stream_response(self, send: Send) -> None:
        """Send the stream."""
        async with aclosing(self._lines):
            await super().stream_response(send)
