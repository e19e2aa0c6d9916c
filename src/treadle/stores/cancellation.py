"""Requests to cancel a run: rows that outlive the process that makes them, for the process that executes the run.

A row is there until the turn is over, however it ends: the journal deletes it in the transaction that says so. A request for a
turn that is over isn't stored, so that it can't end a later one.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.stores.database import Connection, Database

POLL_SECONDS = 0.5  # between two looks for requests, while a process executes runs
MAX_IDS = 500  # of one query

CancelRun = Callable[[], Awaitable[object]]


class CancelRequests:
    """The requests of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        words = database.words
        self._status = f"SELECT status FROM runs WHERE run_id = ?{words.lock_shared}"  # noqa: S608 - our own words
        self._overdue = (
            "SELECT cancel_requests.run_id FROM cancel_requests JOIN leases ON leases.run_id = cancel_requests.run_id"  # noqa: S608
            f" WHERE at <= {words.now} - ? ORDER BY at LIMIT {MAX_IDS}"
        )
        self._add = f"INSERT INTO cancel_requests VALUES (?, {words.now}) ON CONFLICT DO NOTHING"  # noqa: S608

    async def add(self, run_id: str) -> bool:
        """Request that a run is cancelled; return False where its turn is over. A second request changes nothing."""

        def added(connection: Connection) -> bool:
            row = connection.execute(self._status, (run_id,)).fetchone()
            if row is None or row[0] != "open":
                return False
            connection.execute(self._add, (run_id,))
            return True

        return await self._database.submit(added)

    async def pending(self, run_ids: Collection[str]) -> set[str]:
        """Return those of these runs that are to be cancelled."""
        ids, found = list(run_ids), set[str]()
        for start in range(0, len(ids), MAX_IDS):
            some = ids[start : start + MAX_IDS]
            query = f"SELECT run_id FROM cancel_requests WHERE run_id IN ({','.join('?' * len(some))})"  # noqa: S608 - marks only
            found.update([row[0] for row in await self._database.submit(lambda each: each.execute(query, some).fetchall())])  # noqa: B023 - awaited
        return found

    async def overdue(self, seconds: float) -> list[str]:
        """Return the runs of workers whose requests are older than so many seconds: their workers have died, or hang."""
        return [row[0] for row in await self._database.submit(lambda each: each.execute(self._overdue, (seconds,)).fetchall())]


class CancelWatch:
    """Looks for requests about the runs that this process executes, all of them with one query, while there are any."""

    def __init__(self, requests: CancelRequests, seconds: float = POLL_SECONDS) -> None:
        self._requests = requests
        self._seconds = seconds
        self._runs: dict[str, CancelRun] = {}
        self._cancelling: dict[str, asyncio.Task[None]] = {}
        self._polling: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watching(self, run_id: str, cancel: CancelRun) -> AsyncGenerator[None]:
        """Have `cancel` called when there is a request, and again with each look until the run is over."""
        self._runs[run_id] = cancel
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        try:
            yield
        finally:
            del self._runs[run_id]
            stopping = [task for task in (self._cancelling.pop(run_id, None), None if self._runs else self._polling) if task]
            if not self._runs:
                self._polling = None
            for task in stopping:
                task.cancel()
            if stopping:
                await asyncio.wait(stopping)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                for run_id in await self._requests.pending(self._runs):
                    if run_id in self._runs and run_id not in self._cancelling:
                        self._cancelling[run_id] = asyncio.create_task(self._cancel(run_id, self._runs[run_id]))
            except TreadleError as error:
                log.warning("Requests to cancel runs couldn't be looked at: %s", error)

    async def _cancel(self, run_id: str, cancel: CancelRun) -> None:
        try:
            await cancel()
        except Exception:  # noqa: BLE001 - of an agent; it is tried again
            log.exception("Run %s couldn't be cancelled", run_id)
        finally:
            self._cancelling.pop(run_id, None)
