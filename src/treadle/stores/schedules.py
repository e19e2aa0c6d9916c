"""Runs that begin again and again: what is wanted, by which expression, and when the next one is due.

What is wanted and when the next one is due are the caller's business; here it is made sure that each due run is begun once.
What is wanted is encrypted where it holds a secret.
"""

from collections.abc import Sequence

from msgspec import Struct

from treadle.core.entries import Entry
from treadle.stores.database import Connection, Database, text_of
from treadle.stores.queue import Place, Queue, passes


class Schedule(Struct, frozen=True):
    """One of them: a cron expression in a time zone, what is wanted (as JSON), and when it is next due (seconds since 1970)."""

    name: str
    cron: str
    zone: str
    wanted: str
    at: float


class Schedules:
    """The schedules of one database."""

    def __init__(self, database: Database, queue: Queue) -> None:
        self._database = database
        self._queue = queue
        self._now = f"SELECT {database.words.now}"

    async def add(self, schedule: Schedule) -> bool:
        """Keep one; False where there is one by that name."""
        safe = self._database.cipher.safe(schedule.wanted.encode(), _about(schedule.name))
        kept = self._database.words.kept(safe.decode())
        row = (schedule.name, schedule.cron, schedule.zone, kept, schedule.at)
        query = "INSERT INTO schedules VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING"
        return await self._database.submit(lambda connection: connection.execute(query, row).rowcount) == 1

    async def remove(self, name: str) -> bool:
        """Forget one; False where there is none by that name. What it has begun goes on."""
        query = "DELETE FROM schedules WHERE name = ?"
        return await self._database.submit(lambda connection: connection.execute(query, (name,)).rowcount) == 1

    async def all(self) -> list[Schedule]:
        """Every one, the next one first."""
        return await self._found("1 = 1")

    async def due(self) -> tuple[list[Schedule], float]:
        """Those whose time has come, and what time it is."""
        now: float = await self._database.submit(lambda connection: connection.execute(self._now).fetchone()[0])
        return await self._found("at <= ?", now), now

    async def begin(self, schedule: Schedule, next_at: float, place: Place, entries: Sequence[Entry]) -> bool:
        """Write its due run down, queue it, and say when the next one is due: all, or nothing where somebody was quicker."""
        query = "UPDATE schedules SET at = ? WHERE name = ? AND at = ?"

        def begun(connection: Connection) -> bool:
            if not passes(connection, self._database.words.skip):
                return False
            if connection.execute(query, (next_at, schedule.name, schedule.at)).rowcount != 1:
                return False
            self._queue.open_in(connection, place, entries)
            return True

        return await self._database.submit(begun)

    async def _found(self, where: str, *values: object) -> list[Schedule]:
        query = f"SELECT name, cron, zone, wanted, at FROM schedules WHERE {where} ORDER BY at, name"  # noqa: S608 - our own words
        rows = await self._database.submit(lambda connection: connection.execute(query, values).fetchall())
        return [Schedule(name, cron, zone, self._read(name, wanted), at) for name, cron, zone, wanted, at in rows]

    def _read(self, name: str, wanted: str | bytes) -> str:
        return self._database.cipher.read(text_of(wanted).encode(), _about(name)).decode()


def _about(name: str) -> str:
    return f"schedule {name}"
