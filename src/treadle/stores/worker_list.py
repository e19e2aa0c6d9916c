"""The workers of a database: each has a row that it renews while it runs, by the database's clock.

It is for people and metrics only; which worker executes a run is said by the run's lease.
"""

from msgspec import Struct

from treadle.stores.database import Connection, Database
from treadle.stores.run_versions import split_versions

KEPT_SECONDS = 86_400.0  # for which a worker that has died is listed


class WorkerInfo(Struct, frozen=True):
    """A worker: the queues it takes runs of, how many at once, its version of Treadle, and whether it takes no more.

    One that is `live` has renewed its row in time; `runs` counts those that it executes. `app_versions` are the versions of an
    application whose runs it continues, its own first.
    """

    worker: str
    queues: tuple[str, ...]
    at_once: int
    version: str
    draining: bool
    live: bool
    runs: int = 0
    app_versions: tuple[str, ...] = ()


class WorkerList:
    """The list of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        now = database.words.now
        self._renew = (
            f"INSERT INTO workers VALUES (?, ?, ?, ?, ?, {now} + ?, ?) ON CONFLICT (worker) DO UPDATE"  # noqa: S608 - our own words
            " SET draining = excluded.draining, until = excluded.until"
        )
        self._forget = f"DELETE FROM workers WHERE until < {now} - {KEPT_SECONDS}"  # noqa: S608
        self._list = (
            "SELECT worker, queues, at_once, version, draining,"  # noqa: S608
            f" CASE WHEN until > {now} THEN 1 ELSE 0 END,"
            f" (SELECT count(*) FROM leases WHERE holder = workers.worker AND leases.until > {now}), app_versions"
            " FROM workers ORDER BY worker"
        )

    async def renew(self, info: WorkerInfo, seconds: float) -> None:
        """Say that a worker runs, for so many seconds."""
        row = (
            *(info.worker, ",".join(info.queues), info.at_once, info.version, int(info.draining), seconds),
            ",".join(info.app_versions),
        )

        def renewed(connection: Connection) -> None:
            connection.execute(self._renew, row)
            connection.execute(self._forget)

        await self._database.submit(renewed)

    async def remove(self, worker: str) -> None:
        """Take a worker off the list that has stopped."""
        await self._database.submit(lambda connection: connection.execute("DELETE FROM workers WHERE worker = ?", (worker,)))

    async def list_workers(self) -> list[WorkerInfo]:
        """Return the workers, and those that died in the last day."""
        if not self._database.exists():
            return []
        rows = await self._database.submit(lambda connection: connection.execute(self._list).fetchall())
        return [
            WorkerInfo(worker, tuple(queues.split(",")), at_once, version, bool(draining), bool(live), runs, split_versions(apps))
            for worker, queues, at_once, version, draining, live, runs, apps in rows
        ]
