"""Recurring runs: the request, its cron expression, and when the next run is due.

The request and the next due time are the caller's business; this ensures that each due run begins exactly once. The request
is encrypted where it contains a secret.
"""

from collections.abc import Sequence

from msgspec import Struct

from treadle.core.entries import Entry
from treadle.stores.database import Connection, Database, decode_stored_text
from treadle.stores.queue import QueuePosition, RunQueue, try_lock_gate


class Schedule(Struct, frozen=True):
    """A schedule: a cron expression in a time zone, the request (as JSON), and when it is next due (seconds since 1970)."""

    name: str
    cron: str
    zone: str
    wanted: str
    at: float


class Schedules:
    """The schedules of one database."""

    def __init__(self, database: Database, queue: RunQueue) -> None:
        self._database = database
        self._queue = queue
        self._now = f"SELECT {database.words.now}"

    async def add(self, schedule: Schedule) -> bool:
        """Store a schedule; return False where the name exists."""
        safe = self._database.cipher.safe(schedule.wanted.encode(), _associated_data(schedule.name))
        kept = self._database.words.text_codec(safe.decode())
        row = (schedule.name, schedule.cron, schedule.zone, kept, schedule.at)
        query = "INSERT INTO schedules VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING"
        return await self._database.submit(lambda connection: connection.execute(query, row).rowcount) == 1

    async def remove(self, name: str) -> bool:
        """Delete a schedule; return False where the name doesn't exist. Runs that it started go on."""
        query = "DELETE FROM schedules WHERE name = ?"
        return await self._database.submit(lambda connection: connection.execute(query, (name,)).rowcount) == 1

    async def all(self) -> list[Schedule]:
        """Return all schedules, the next due first."""
        return await self._query("1 = 1")

    async def due(self) -> tuple[list[Schedule], float]:
        """Return the schedules that are due, and the current time."""
        now: float = await self._database.submit(lambda connection: connection.execute(self._now).fetchone()[0])
        return await self._query("at <= ?", now), now

    async def begin(self, schedule: Schedule, next_at: float, place: QueuePosition, entries: Sequence[Entry]) -> bool:
        """Create and queue the due run and set the next due time, atomically; return False where another process was faster."""
        query = "UPDATE schedules SET at = ? WHERE name = ? AND at = ?"

        def begun(connection: Connection) -> bool:
            if not try_lock_gate(connection, self._database.words.skip_locked):
                return False
            if connection.execute(query, (next_at, schedule.name, schedule.at)).rowcount != 1:
                return False
            self._queue.open_in(connection, place, entries)
            return True

        return await self._database.submit(begun)

    async def _query(self, where: str, *values: object) -> list[Schedule]:
        query = f"SELECT name, cron, zone, wanted, at FROM schedules WHERE {where} ORDER BY at, name"  # noqa: S608 - our own words
        rows = await self._database.submit(lambda connection: connection.execute(query, values).fetchall())
        return [Schedule(name, cron, zone, self._decrypt(name, wanted), at) for name, cron, zone, wanted, at in rows]

    def _decrypt(self, name: str, wanted: str | bytes) -> str:
        return self._database.cipher.read(decode_stored_text(wanted).encode(), _associated_data(name)).decode()


def _associated_data(name: str) -> str:
    return f"schedule {name}"
