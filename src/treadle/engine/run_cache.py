"""Conversations between two turns: entries and state are kept in memory, so that a turn costs the same however long the run is.

The journal stays the truth. What is kept is used only where the journal still has its last entry in that place; what others have
written since is replayed on top of it. Only runs with several turns are kept, and only a few.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from weakref import WeakKeyDictionary

from msgspec import Struct

from treadle.core.entries import Entry
from treadle.core.errors import RunNotFound
from treadle.core.seams import Journal
from treadle.engine.live import LiveRun
from treadle.loop.state import RunState

ReadFrom = Callable[[str, int], Awaitable[list[Entry]]]

MAX_RUNS = 16  # of one journal
MAX_ENTRIES = 100_000  # of one run


class KeptRun(Struct, frozen=True):
    """A run as its last turn has left it."""

    entries: tuple[Entry, ...]
    state: RunState
    call_ids: frozenset[str]


class RunCache:
    """The runs of this process that were continued last, by journal."""

    def __init__(self) -> None:
        self._runs: WeakKeyDictionary[Journal, OrderedDict[str, KeptRun]] = WeakKeyDictionary()

    def keep(self, run: LiveRun) -> None:
        """Keep a run whose turn is over. One whose state isn't what its journal says is left out: the model has read secrets."""
        journal = run.services.journal
        if journal is None or not hasattr(journal, "read_from") or run.differs_from_journal or len(run.entries) > MAX_ENTRIES:
            return
        runs = self._runs.setdefault(journal, OrderedDict())
        runs[run.id] = KeptRun(tuple(run.entries), run.state, frozenset(run.call_ids))
        runs.move_to_end(run.id)
        if len(runs) > MAX_RUNS:
            runs.popitem(last=False)

    async def restore(self, run: LiveRun) -> list[Entry] | None:
        """Restore a run as it was kept; return what was written since, which has to be replayed. None where it has to be read."""
        journal = run.services.journal
        read_from: ReadFrom | None = getattr(journal, "read_from", None)
        if journal is None or read_from is None:
            return None
        kept = self._runs.get(journal, OrderedDict()).pop(run.id, None)
        if kept is None:
            return None
        try:
            found = await read_from(run.id, len(kept.entries) - 1)
        except RunNotFound:
            return None
        if not found or found[0] != kept.entries[-1]:
            return None
        run.entries, run.state, run.call_ids = [*kept.entries], kept.state, set(kept.call_ids)
        return found[1:]


kept_runs = RunCache()  # of this process: a host may make an agent for each turn
