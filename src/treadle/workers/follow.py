"""Follow the journal of a run that another process writes, on whichever machine: by position, to the end of its turn."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing

from msgspec import Struct

from treadle.core.entries import Entry, Judged, Returned
from treadle.home import Home
from treadle.stores.queue import read_progress

POLL_SECONDS = 0.25  # between two reads of the journal

Pause = Callable[[float], Awaitable[object]]


class JournaledEntry(Struct, frozen=True):
    """An entry, and the run that has it at a position, from 1 on."""

    run_id: str
    position: int
    entry: Entry


class JournalUpdate(Struct, frozen=True):
    """Entries that were written since the last read, in order. With `over`, the turn is over and no other is queued."""

    entries: list[JournaledEntry]
    over: bool


async def follow_entries(home: Home, run_id: str, after: int = 0) -> AsyncGenerator[JournaledEntry]:
    """Yield the entries of a run after a position, as they are written, until its turn is over."""
    async with aclosing(follow_journals(home, run_id, {run_id: after})) as updates:
        async for update in updates:
            for each in update.entries:
                if each.run_id == run_id:
                    yield each


async def follow_journals(
    home: Home, run_id: str, positions: Mapping[str, int], pause: Pause = asyncio.sleep
) -> AsyncGenerator[JournalUpdate]:
    """Yield what is written to a run and the runs nested in it after these positions, with each read, until the turn is over.

    Raises `RunNotFound` where there is no such run, also when it is deleted meanwhile.
    """
    reader = _JournalReader(home, run_id, positions)
    while True:
        update = await reader.read()
        yield update
        if update.over:
            return
        await pause(POLL_SECONDS)


class _JournalReader:
    """Reads further entries of a run and of those nested in it."""

    def __init__(self, home: Home, run_id: str, positions: Mapping[str, int]) -> None:
        self._home = home
        self._run_id = run_id
        self._positions = dict(positions)

    async def read(self) -> JournalUpdate:
        """Return what was written since the last read, up to what this one has counted."""
        progress = await read_progress(self._home.database, self._run_id)
        found = {run_id: deque(await self._read_run(run_id, count)) for run_id, count in sorted(progress.counts.items())}
        return JournalUpdate(list(_merge(self._run_id, found)), progress.over)

    async def _read_run(self, run_id: str, count: int) -> list[JournaledEntry]:
        position = self._positions.get(run_id, 0)
        if count <= position:
            return []
        entries = (await self._home.journal.read_from(run_id, position))[: count - position]
        self._positions[run_id] = count
        return [JournaledEntry(run_id, number, entry) for number, entry in enumerate(entries, position + 1)]


def _merge(run_id: str, found: Mapping[str, deque[JournaledEntry]]) -> Iterator[JournaledEntry]:
    """Yield the entries of a run and of nested ones, by time; those inside of a call come before its result."""
    inside = {child: deque(_merge(child, found)) for child in found if _find_parent(child, found) == run_id}
    for each in found[run_id]:
        if not isinstance(each.entry, Judged):
            for child, waiting in inside.items():
                ends = isinstance(each.entry, Returned) and child == f"{run_id}.{each.entry.result.call_id}"
                while waiting and (ends or waiting[0].entry.at <= each.entry.at):
                    yield waiting.popleft()
        yield each
    for waiting in inside.values():
        yield from waiting


def _find_parent(run_id: str, found: Iterable[str]) -> str:
    """Return the run that another is nested in, by its id, which begins with that of its parent."""
    return max([each for each in found if run_id.startswith(f"{each}.")], key=len, default="")
