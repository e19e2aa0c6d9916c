"""One reader of a run's events: first what the journal tells, then what happens, with nothing twice and nothing left out.

Where both meet says the broadcast (`Mark`); after a break a reader goes on where it was, if what it had still counts.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from starlette.responses import StreamingResponse
from starlette.types import Send

from treadle.server.metrics import Figures
from treadle.server.runs.broadcast import Broadcast, Item, joined
from treadle.server.runs.events import Missed, encode
from treadle.server.runs.live import Live
from treadle.server.runs.telling import HELD, Place, Telling, extent_of, journals_for, line

BEAT = 15.0  # seconds of silence after which a sign of life is sent
GATHER = 0.0002  # seconds for each reader there is, in which events are gathered before they are sent
LONGEST = 0.1  # seconds that they are gathered at most


def place_of(said: str) -> Place | None:
    """The place that a reader names; None where it names none. What makes no sense is a place that nobody knows."""
    epoch, _, number = said.rpartition("-")
    if not said:
        return None
    return Place(epoch, int(number)) if number.isascii() and number.isdecimal() and len(number) < 16 else Place("", 0)


class Start(Struct, frozen=True):
    """What a reader is sent first, and after which event of the broadcast it then goes on. Without one, that is all."""

    telling: Telling | None = None
    broadcast: Broadcast | None = None
    number: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to tell, and nothing will come."""
        if self.telling is not None and not self.telling.is_nothing:
            return False
        return self.broadcast is None or (self.broadcast.is_over and self.number >= self.broadcast.last)


Data = Callable[[], Awaitable[Any]]


async def _no_data() -> None:
    """For runs whose assistant says nothing besides its words."""


async def start_of(live: Live, run_id: str, place: Place | None, held: float = HELD, data: Data = _no_data) -> Start:
    """Where a reader begins: after what it has, if that still counts and what follows is kept; else with all there is.

    `data` gives what comes with the last answer, where a journal is all that tells of it.
    """
    broadcast = live.broadcast(run_id)
    if broadcast is not None and place is not None and _follows(place, broadcast):
        return Start(None, broadcast, place.number)
    while True:
        before = _idle(live, run_id)
        start = await _told(live, run_id, place, held, data)
        if start is not None and (start.broadcast is not None or (before is not None and before == _idle(live, run_id))):
            return start


def _follows(place: Place, broadcast: Broadcast) -> bool:
    return place.epoch == broadcast.epoch and broadcast.first - 1 <= place.number <= broadcast.last


def _idle(live: Live, run_id: str) -> tuple[str, int] | None:
    """What is another each time that a turn was under way in between; None while one is."""
    broadcast = live.broadcast(run_id)
    if broadcast is None:
        return "", 0
    return (broadcast.epoch, broadcast.last) if broadcast.is_over else None


async def _told(live: Live, run_id: str, place: Place | None, held: float, data: Data) -> Start | None:
    """What a journal tells, up to where the events go on that are told now. None where it was read too long ago."""
    journals, said = await journals_for(live, run_id), None if live.is_under_way(run_id) else await data()
    broadcast = live.broadcast(run_id)
    if broadcast is None or broadcast.is_over:
        return Start(Telling(live, extent_of(run_id, journals), journals, place, held, said))
    mark = broadcast.meeting(len(journals[run_id]))
    if mark is None:
        return None
    return Start(Telling(live, extent_of(run_id, journals, mark.position), journals, place, held), broadcast, mark.number)


async def lines_of(start: Start, figures: Figures, beat: float = BEAT) -> AsyncGenerator[bytes]:
    """All that a reader is sent."""
    if start.telling is not None:
        async with aclosing(start.telling.pieces()) as pieces:
            async for count, piece in pieces:
                figures.events_sent += count
                yield piece
    if start.broadcast is not None:
        async with aclosing(_following(start.broadcast, start.number, figures, beat)) as lines:
            async for each in lines:
                yield each


async def _following(broadcast: Broadcast, number: int, figures: Figures, beat: float) -> AsyncGenerator[bytes]:
    """What happens after an event, until nothing comes any more."""
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
            await asyncio.sleep(min(figures.readers * GATHER, LONGEST))
            missed, items = broadcast.since(number)
            number = items[-1].number
            figures.events_sent += len(items)
            yield _sent(broadcast.epoch, missed, items)


def _sent(epoch: str, missed: int, items: list[Item]) -> bytes:
    lines = [line(Place(epoch, item.number), item.data) for item in joined(items)]
    if missed:
        lines.insert(0, line(Place(epoch, items[0].number - 1), encode(Missed(count=missed))))
    return b"".join(lines)


class Streamed(StreamingResponse):
    """A stream that lets go of what it reads as soon as nobody listens any more."""

    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(lines, media_type="text/event-stream", headers=headers)
        self._lines = lines

    async def stream_response(self, send: Send) -> None:
        """Send it."""
        async with aclosing(self._lines):
            await super().stream_response(send)
