"""Stores in this process's memory: the journal, the cache and the full results of runs without a database, and bytes of media."""

from collections import OrderedDict
from collections.abc import Awaitable, Generator, Sequence
from hashlib import sha256
from threading import Lock
from typing import Any

from msgspec import Struct

from treadle.core.entries import Entry, Opened
from treadle.core.errors import JournalError, MediaMissing, RunNotFound, RunTaken

_MOST_DROPPED = 10_000  # names of runs that memory has dropped and still recognizes
MAX_MEMORY_BYTES = 256 * 1024 * 1024  # bytes kept in memory


def taken_error(run_id: str) -> RunTaken:
    """Return the error for a run to which another process has written in the meantime."""
    return RunTaken(f"Another process has written to run {run_id} in the meantime; read it again before you go on.")


def not_found_error(run_id: str) -> RunNotFound:
    """Return the error for a run that doesn't exist."""
    return RunNotFound(f"There is no run {run_id} here. `treadle runs` lists them.")


class _Completed:
    """An awaitable that has already completed, with or without an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def __await__(self) -> Generator[Any, None, None]:
        if self._error is not None:
            raise self._error
        yield from ()


DONE = _Completed()  # for stores that have nothing to wait for


class MemoryJournal:
    """A journal in this process only. Of the runs that are over it keeps the last `most`, where that is given."""

    def __init__(self, most: int | None = None) -> None:
        self._runs: dict[str, list[Entry]] = {}
        self._nested: dict[str, list[str]] = {}  # runs by their parent's id
        self._most = most
        self._over: dict[str, None] = {}  # in the order in which they ended
        self._dropped: dict[str, None] = {}

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Store entries at `position`."""
        kept = self._runs.get(run_id) or self._begin(run_id, position, entries)
        if len(kept) != position:
            return _Completed(taken_error(run_id))
        kept += entries
        return DONE

    def _begin(self, run_id: str, position: int, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries of a run that has none yet."""
        if not position and entries and isinstance(first := entries[0], Opened) and first.parent:
            self._nested.setdefault(first.parent, []).append(run_id)
        return self._runs.setdefault(run_id, [])

    async def read(self, run_id: str) -> list[Entry]:
        """Return all entries of a run."""
        if run_id in self._dropped:
            why = f"memory has only the last {self._most} that are over; use journal=True to keep all"
            raise JournalError(f"Run {run_id} is no longer there: {why}.")
        if run_id not in self._runs:
            raise not_found_error(run_id)
        return list(self._runs[run_id])

    async def read_from(self, run_id: str, position: int) -> list[Entry]:
        """Return the entries of a run from a position on."""
        return (await self.read(run_id))[position:]

    async def children(self, run_id: str) -> list[str]:
        """Return the ids of the runs nested in this one, at any depth."""
        return [inner for child in self._nested.get(run_id, ()) for inner in (child, *await self.children(child))]

    def has(self, run_id: str) -> bool:
        """Return whether there is such a run."""
        return run_id in self._runs

    async def retire(self, run_id: str) -> None:
        """Note that a run is over; the run that has been over for longest is dropped where there are too many."""
        self._over.pop(run_id, None)
        self._over[run_id] = None
        if self._most is not None and len(self._over) > self._most:
            oldest = next(iter(self._over))
            del self._over[oldest]
            await self.forget(oldest)
            self._dropped[oldest] = None
            if len(self._dropped) > _MOST_DROPPED:
                del self._dropped[next(iter(self._dropped))]

    async def forget(self, run_id: str) -> None:
        """Drop a run and its nested runs."""
        for other in (run_id, *await self.children(run_id)):
            self._runs.pop(other, None)
            self._nested.pop(other, None)


class _CacheEntry(Struct, frozen=True):
    group: str
    content: str
    until: float


class MemoryCache:
    """A cache in this process only; expired entries are dropped when room is needed."""

    def __init__(self, most: int = 1000) -> None:
        self._kept: dict[str, _CacheEntry] = {}
        self._most = most

    async def get(self, key: str, now: float) -> str | None:
        """Return the content under `key`, unless it has expired."""
        kept = self._kept.get(key)
        return kept.content if kept is not None and now < kept.until else None

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Store `content`."""
        self._kept.pop(key, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _CacheEntry(group, content, until)

    async def forget(self, group: str) -> None:
        """Drop all entries of a group."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept.group != group}


class MemoryResults:
    """Results in this process only."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], str] = {}

    async def keep(self, run_id: str, result_id: str, content: str) -> None:
        """Store `content`."""
        self._kept[run_id, result_id] = content

    async def fetch(self, run_id: str, result_id: str) -> str | None:
        """Return a stored result in full."""
        return self._kept.get((run_id, result_id))


class MemoryBlobs:
    """Blobs in this process only. Beyond `most` bytes, the least recently used are evicted."""

    def __init__(self, most: int = MAX_MEMORY_BYTES) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def put(self, data: bytes) -> str:
        """Store `data` and return its hash."""
        name = sha256(data).hexdigest()
        with self._lock:
            if name not in self._kept:
                self._kept[name] = data
                self._size += len(data)
            self._kept.move_to_end(name)
            while self._size > self._most and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
        return name

    def get(self, sha256: str) -> bytes:
        """Return the bytes with this hash."""
        with self._lock:
            data = self._kept.get(sha256)
            if data is None:
                raise MediaMissing(
                    f"The image, recording or document {sha256[:12]} isn't in this process's memory (any more): "
                    "pass it again, and run with journal=True to have it kept."
                )
            self._kept.move_to_end(sha256)
            return data


PROCESS_BLOBS = MemoryBlobs()  # one for the process: a history that an agent made may be continued by another
