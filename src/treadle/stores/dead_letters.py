"""Dead letters: runs of workers that have failed as often as they may be tried, until they are retried, deleted or removed here.

The reason of a failure is in the run's journal. A run that is queued again leaves the list in the same transaction
(`RunQueue`), and so does one that is deleted.
"""

from msgspec import Struct

from treadle.stores.database import Connection, Database
from treadle.stores.queue import FailureCause

MAX_LISTED = 1000


class DeadLetter(Struct, frozen=True):
    """A run that isn't tried again by itself; since a time in seconds since 1970."""

    run_id: str
    user: str
    agent: str
    title: str
    queue: str
    cause: FailureCause
    failures: int
    at: float


class DeadLetters:
    """The dead letters of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_letters(self, queue: str = "", most: int = MAX_LISTED, before: float | None = None) -> list[DeadLetter]:
        """Return dead letters, the newest first: of a queue, and from before a time, if those are given."""
        if not self._database.exists():
            return []
        values = (queue, queue, before is None, before or 0.0, most)

        def select(connection: Connection) -> list[DeadLetter]:
            return [DeadLetter(*row) for row in connection.execute(_LIST, values).fetchall()]

        return await self._database.submit(select)

    async def remove(self, run_id: str) -> bool:
        """Take a run off the list; the run itself is kept. Return False where it isn't on it."""
        if not self._database.exists():
            return False
        query = "DELETE FROM dead_letters WHERE run_id = ?"
        return await self._database.submit(lambda connection: connection.execute(query, (run_id,)).rowcount) == 1


_LIST = (
    'SELECT dead_letters.run_id, "user", agent, title, queue, cause, failures, at FROM dead_letters'
    " JOIN runs ON runs.run_id = dead_letters.run_id WHERE runs.status = 'failed' AND (? = '' OR queue = ?) AND (? OR at < ?)"
    " ORDER BY at DESC, dead_letters.run_id LIMIT ?"
)
