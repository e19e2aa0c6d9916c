"""What a run's journal tells one reader, a piece at a time. Who reads, and what comes after it, is `reading`.

A reader that stops reading costs a piece: what the journal tells is shared by all who are told the same, held for those who read
on, let go of for the others, and read again if they come back to it.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from msgspec import Struct

from treadle.core.entries import Entry
from treadle.server.runs.events import Reset, Told, encode
from treadle.server.runs.kept import journals_of
from treadle.server.runs.live import Live
from treadle.server.runs.replay import told, whole

AT_ONCE = 64 * 1024  # bytes that are made ready at once; one event may have more
HELD = 2.0  # seconds for which a journal is held for a reader that doesn't read on
READ_AT_ONCE = 2  # journals of one person

Journals = dict[str, list[Entry]]
Piece = tuple[int, bytes]  # how many events, and how they are sent


class Place(Struct, frozen=True):
    """Up to where a reader has read: an event's number, and in whose counting."""

    epoch: str
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.number}"


def line(place: Place, data: bytes) -> bytes:
    """One server-sent event."""
    return b"id: %b\ndata: %b\n\n" % (str(place).encode(), data)


class Extent(Struct, frozen=True):
    """What is told: so many entries of each journal, those of a run and of the runs inside of it; the run's up to a `position`.

    Without a position it is told whole, with how it stands. Journals only grow, so that an extent always tells the same.
    """

    run_id: str
    counts: tuple[tuple[str, int], ...]
    position: int | None = None

    @property
    def epoch(self) -> str:
        """Whose counting it is: its numbers count for as long as there are no more entries."""
        return f"j{dict(self.counts)[self.run_id] if self.position is None else self.position}"

    def events(self, journals: Journals, data: Any = None) -> list[Told]:
        """All that it tells; `data` comes with its last answer."""
        bounded = {run_id: journals[run_id][:count] for run_id, count in self.counts}
        return whole(self.run_id, bounded, data) if self.position is None else told(self.run_id, bounded, self.position)


def extent_of(run_id: str, journals: Journals, position: int | None = None) -> Extent:
    """What these journals tell."""
    return Extent(run_id, tuple([(each, len(entries)) for each, entries in journals.items()]), position)


class Account:
    """The events of an extent, for everybody who is told them at the moment."""

    def __init__(self, events: Sequence[Told]) -> None:
        self.events = events


class _Shelf:
    """One person's accounts, for as long as somebody holds them."""

    def __init__(self) -> None:
        self.accounts: WeakValueDictionary[Extent, Account] = WeakValueDictionary()
        self.reading = asyncio.Semaphore(READ_AT_ONCE)

    def account(self, extent: Extent, journals: Journals, data: Any) -> Account:
        account = self.accounts.get(extent)
        if account is None:
            account = self.accounts[extent] = Account(extent.events(journals, data))
        return account


_shelves: "WeakKeyDictionary[Live, _Shelf]" = WeakKeyDictionary()


def _shelf(live: Live) -> _Shelf:
    return _shelves.setdefault(live, _Shelf())


async def journals_for(live: Live, run_id: str) -> Journals:
    """A run's journals, read for somebody who wants to be told them. However many come, a few are read at once."""
    async with _shelf(live).reading:
        return await journals_of(live.home, run_id)


class Telling:
    """What one reader is told of an extent: what follows its place, or after a `reset` all of it."""

    def __init__(
        self, live: Live, extent: Extent, journals: Journals, place: Place | None, held: float = HELD, data: Any = None
    ) -> None:
        self._live = live
        self._extent = extent
        self._held = held
        self._data = data
        self._account: Account | None = _shelf(live).account(extent, journals, data)
        self._count = len(self._account.events)
        goes_on = place is not None and place.epoch == extent.epoch
        self._number = place.number if place is not None and goes_on else 0
        self._resets = place is not None and not goes_on

    @property
    def is_nothing(self) -> bool:
        """Whether the reader has all of it."""
        return not self._resets and self._number >= self._count

    async def pieces(self) -> AsyncGenerator[Piece]:
        """What is sent, one after the other."""
        loop = asyncio.get_running_loop()
        if self._resets:
            yield 1, line(Place(self._extent.epoch, 0), encode(Reset()))
        while self._number < self._count:
            piece = self._next((self._account or await self._again()).events)
            letting_go = loop.call_later(self._held, self._let_go)
            try:
                yield piece
            finally:
                letting_go.cancel()

    def _next(self, events: Sequence[Told]) -> Piece:
        lines, size = list[bytes](), 0
        while self._number < self._count and size < AT_ONCE:
            self._number += 1
            lines.append(line(Place(self._extent.epoch, self._number), encode(events[self._number - 1])))
            size += len(lines[-1])
        return len(lines), b"".join(lines)

    def _let_go(self) -> None:
        self._account = None

    async def _again(self) -> Account:
        """What it tells, where it was let go of meanwhile."""
        shelf = _shelf(self._live)
        account = shelf.accounts.get(self._extent)
        if account is None:
            account = shelf.account(self._extent, await journals_for(self._live, self._extent.run_id), self._data)
        self._account = account
        return account
