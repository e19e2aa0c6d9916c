"""The journal of a run as an SSE stream for one reader, a chunk at a time. `sse` has the readers, and what comes after it.

A reader that stops reading costs one chunk: a journal's events are shared by all readers of the same extent, held
while they are read, dropped otherwise, and read again if a reader comes back.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from msgspec import Struct

from treadle.core.entries import Entry
from treadle.server.runs.events import StreamEvent, StreamReset, encode
from treadle.server.runs.journals import read_journals
from treadle.server.runs.live_turns import LiveTurns
from treadle.server.runs.replay import all_events, events_from_journal

CHUNK_BYTES = 64 * 1024  # bytes that are made ready at once; one event may have more
HOLD_SECONDS = 2.0  # seconds for which a journal is held for a reader that doesn't read on
MAX_PARALLEL_READS = 2  # journals of one person

Journals = dict[str, list[Entry]]
Chunk = tuple[int, bytes]  # how many events, and how they are sent


class EventCursor(Struct, frozen=True):
    """A reader's position: an event's number, and the epoch that counts it."""

    epoch: str
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.number}"


def format_sse(place: EventCursor, data: bytes) -> bytes:
    """Format one server-sent event."""
    return b"id: %b\ndata: %b\n\n" % (str(place).encode(), data)


class JournalExtent(Struct, frozen=True):
    """A part of journals: so many entries of a run's and of each nested one's; the run's up to a `position`.

    Without a position it is all of it, with the run's state. Journals only grow, so an extent always yields the same
    events.
    """

    run_id: str
    counts: tuple[tuple[str, int], ...]
    position: int | None = None

    @property
    def epoch(self) -> str:
        """The epoch of its numbers: they are valid for as long as there are no more entries."""
        return f"j{dict(self.counts)[self.run_id] if self.position is None else self.position}"

    def events(self, journals: Journals, data: Any = None) -> list[StreamEvent]:
        """Return all its events; `data` accompanies the last answer."""
        bounded = {run_id: journals[run_id][:count] for run_id, count in self.counts}
        return (
            all_events(self.run_id, bounded, data)
            if self.position is None
            else events_from_journal(self.run_id, bounded, self.position)
        )


def extent_of(run_id: str, journals: Journals, position: int | None = None) -> JournalExtent:
    """Return the extent of these journals."""
    return JournalExtent(run_id, tuple([(each, len(entries)) for each, entries in journals.items()]), position)


class JournalEvents:
    """The events of an extent, shared by its current readers."""

    def __init__(self, events: Sequence[StreamEvent]) -> None:
        self.events = events


class _EventCache:
    """One user's events of extents, weakly referenced: kept while a reader holds them."""

    def __init__(self) -> None:
        self.accounts: WeakValueDictionary[JournalExtent, JournalEvents] = WeakValueDictionary()
        self.reading = asyncio.Semaphore(MAX_PARALLEL_READS)

    def account(self, extent: JournalExtent, journals: Journals, data: Any) -> JournalEvents:
        account = self.accounts.get(extent)
        if account is None:
            account = self.accounts[extent] = JournalEvents(extent.events(journals, data))
        return account


_caches: "WeakKeyDictionary[LiveTurns, _EventCache]" = WeakKeyDictionary()


def _cache_for(live: LiveTurns) -> _EventCache:
    return _caches.setdefault(live, _EventCache())


async def read_journals_for(live: LiveTurns, run_id: str) -> Journals:
    """Read a run's journals for a reader. However many readers come, only a few reads run at once."""
    async with _cache_for(live).reading:
        return await read_journals(live.home, run_id)


class JournalStream:
    """One reader's stream of an extent: what follows its cursor, or after a `reset` all of it."""

    def __init__(
        self,
        live: LiveTurns,
        extent: JournalExtent,
        journals: Journals,
        place: EventCursor | None,
        held: float = HOLD_SECONDS,
        data: Any = None,
    ) -> None:
        self._live = live
        self._extent = extent
        self._held = held
        self._data = data
        self._account: JournalEvents | None = _cache_for(live).account(extent, journals, data)
        self._count = len(self._account.events)
        goes_on = place is not None and place.epoch == extent.epoch
        self._number = place.number if place is not None and goes_on else 0
        self._resets = place is not None and not goes_on

    @property
    def is_nothing(self) -> bool:
        """Whether the reader has all of it."""
        return not self._resets and self._number >= self._count

    async def pieces(self) -> AsyncGenerator[Chunk]:
        """Yield the chunks to send."""
        loop = asyncio.get_running_loop()
        if self._resets:
            yield 1, format_sse(EventCursor(self._extent.epoch, 0), encode(StreamReset()))
        while self._number < self._count:
            piece = self._next_chunk((self._account or await self._reload_events()).events)
            letting_go = loop.call_later(self._held, self._drop_events)
            try:
                yield piece
            finally:
                letting_go.cancel()

    def _next_chunk(self, events: Sequence[StreamEvent]) -> Chunk:
        lines, size = list[bytes](), 0
        while self._number < self._count and size < CHUNK_BYTES:
            self._number += 1
            lines.append(format_sse(EventCursor(self._extent.epoch, self._number), encode(events[self._number - 1])))
            size += len(lines[-1])
        return len(lines), b"".join(lines)

    def _drop_events(self) -> None:
        self._account = None

    async def _reload_events(self) -> JournalEvents:
        """Return the events, read again where they were dropped meanwhile."""
        shelf = _cache_for(self._live)
        account = shelf.accounts.get(self._extent)
        if account is None:
            account = shelf.account(self._extent, await read_journals_for(self._live, self._extent.run_id), self._data)
        self._account = account
        return account
