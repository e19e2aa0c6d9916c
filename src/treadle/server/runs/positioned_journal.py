"""A journal that knows the position of a run at any moment, without waiting: there events and entries are matched."""

from collections.abc import Awaitable, Sequence

from treadle.core.entries import Entry
from treadle.guard.redaction import Redactor
from treadle.stores.database import Database
from treadle.stores.journal import DatabaseJournal


class PositionedJournal(DatabaseJournal):
    """A home's journal, for one turn of one run."""

    def __init__(self, database: Database, run_id: str, position: int) -> None:
        super().__init__(database)
        self._run_id = run_id
        self.position = position  # how many entries the run has

    def append_hiding(self, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor) -> Awaitable[None]:
        """Write entries, and track the position of the run."""
        if run_id == self._run_id:
            self.position = position + len(entries)
        return super().append_hiding(run_id, position, entries, redactor)
