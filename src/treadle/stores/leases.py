"""Leases on runs: which worker executes a run, for a limited time, with a fencing token that grows with each new holder.

Time is the database's own, so that workers needn't agree on one. A worker that was silent for longer than its lease can lose
it without noticing; its later writes are refused, because its token isn't the newest any more
(`DatabaseJournal.append_with_lease`).
"""

from collections.abc import Awaitable, Generator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.entries import Entry
from treadle.guard.redaction import Redactor
from treadle.stores.database import Connection, Database
from treadle.stores.encryption import PLAIN

if TYPE_CHECKING:
    from treadle.stores.journal import DatabaseJournal


CANCELLER = "cancel-"  # what the names of holders begin with that only end a run


class Lease(Struct, frozen=True):
    """A lease of `holder` on a run, for so many seconds after it was acquired or last renewed."""

    run_id: str
    holder: str
    token: int
    seconds: float


class Leases:
    """The leases of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        now = database.words.now
        self._take = (
            f"INSERT INTO leases VALUES (?, ?, 1, {now} + ?) ON CONFLICT (run_id) DO UPDATE"  # noqa: S608 - our own words
            f" SET holder = excluded.holder, token = leases.token + 1, until = excluded.until WHERE leases.until <= {now}"
        )
        is_overdue = (
            f"substr(holder, 1, {len(CANCELLER)}) <> '{CANCELLER}' AND EXISTS"  # noqa: S608
            f" (SELECT 1 FROM cancel_requests WHERE cancel_requests.run_id = leases.run_id AND at <= {now} - ?)"
        )
        self._take_cancelled = (
            f"UPDATE leases SET holder = ?, token = token + 1, until = {now} + ? WHERE run_id = ? AND {is_overdue}"  # noqa: S608
        )
        self._may = f"SELECT 1 FROM leases WHERE run_id = ? AND (until <= {now} OR {is_overdue})"  # noqa: S608
        self._renew = f"UPDATE leases SET until = {now} + ? WHERE run_id = ? AND token = ? AND holder <> ''"  # noqa: S608
        self._held = f"SELECT 1 FROM leases WHERE run_id = ? AND holder <> '' AND until > {now}"  # noqa: S608
        self._expired = f"SELECT run_id FROM leases WHERE holder <> '' AND until <= {now} ORDER BY until, run_id"  # noqa: S608

    async def take(self, run_id: str, holder: str, seconds: float) -> Lease | None:
        """Acquire a lease on a run; return None where one is held, even by the same holder."""
        return await self._acquire(Lease(run_id, holder, 0, seconds), (self._take, (run_id, holder, seconds)))

    async def take_to_cancel(self, run_id: str, holder: str, seconds: float, patience: float) -> Lease | None:
        """Acquire a lease on a run that is free, or whose holder has left a request to cancel it unanswered for `patience` seconds.

        That holder may be alive: with its token outdated, it can't write any more. It keeps the lease where it is another
        process that ends the run at this moment.
        """
        name = f"{CANCELLER}{holder}"
        overdue = self._take_cancelled, (name, seconds, run_id, patience)
        return await self._acquire(Lease(run_id, name, 0, seconds), (self._take, (run_id, name, seconds)), overdue)

    async def may_cancel(self, run_id: str, patience: float) -> bool:
        """Return whether `take_to_cancel` would acquire a lease that a worker has had."""
        values = (run_id, patience)
        return await self._database.submit(lambda connection: connection.execute(self._may, values).fetchone()) is not None

    async def _acquire(self, wanted: Lease, *ways: tuple[str, tuple[Any, ...]]) -> Lease | None:
        """Acquire a lease in the first of these ways that changes its row."""

        def taken(connection: Connection) -> int | None:
            if not any(connection.execute(query, values).rowcount == 1 for query, values in ways):
                return None
            return connection.execute("SELECT token FROM leases WHERE run_id = ?", (wanted.run_id,)).fetchone()[0]

        token = await self._database.submit(taken)
        return None if token is None else replace(wanted, token=token)

    async def renew(self, lease: Lease) -> bool:
        """Extend the lease by its full duration from now; return False where it was released or taken over."""
        values = (lease.seconds, lease.run_id, lease.token)
        return await self._database.submit(lambda connection: connection.execute(self._renew, values).rowcount) == 1

    async def give_up(self, lease: Lease) -> None:
        """Release the lease at once. Does nothing where it isn't held any more."""
        query = "UPDATE leases SET holder = '', until = 0 WHERE run_id = ? AND token = ?"
        await self._database.submit(lambda connection: connection.execute(query, (lease.run_id, lease.token)).rowcount)

    async def is_held(self, run_id: str) -> bool:
        """Return whether a worker has a lease on a run that hasn't expired."""
        return await self._database.submit(lambda connection: connection.execute(self._held, (run_id,)).fetchone()) is not None

    async def list_expired(self) -> list[str]:
        """Return the runs whose leases have expired, the longest first; not those that were released."""
        return [row[0] for row in await self._database.submit(lambda connection: connection.execute(self._expired).fetchall())]


def holds_lease(connection: Connection, lease: Lease, share: str) -> bool:
    """Return whether a lease is still held: not released, and not taken over. `lock` keeps it so until the transaction ends."""
    query = f"SELECT 1 FROM leases WHERE run_id = ? AND token = ? AND holder <> ''{share}"  # noqa: S608 - our own words
    return connection.execute(query, (lease.run_id, lease.token)).fetchone() is not None


PAUSE = 3  # of a lease, the fraction after which a holder that was paused checks that it still has it


class FencedJournal:
    """A journal for a worker that executes a run under a lease: for the run itself and its nested runs."""

    def __init__(self, journal: "DatabaseJournal", lease: Lease) -> None:
        self._journal = journal
        self.lease = lease
        self._last: _CheckedWrite | None = None

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Write entries under the lease. Raises `RunTaken` if another worker has taken it."""
        return self.append_hiding(run_id, position, entries, PLAIN)

    def append_hiding(self, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor) -> Awaitable[None]:
        """Write entries as `append` does, for a run with its own redactor."""
        ticket = self._journal.append_with_lease(self.lease, run_id, position, entries, redactor)
        if self._last is None or self._last.ticket is not ticket:
            self._last = _CheckedWrite(ticket, self._journal, self.lease)
        return self._last

    async def read(self, run_id: str) -> list[Entry]:
        """Return all entries of a run."""
        return await self._journal.read(run_id)

    async def children(self, run_id: str) -> list[str]:
        """Return the ids of the runs nested in this one, at any depth."""
        return await self._journal.children(run_id)


class _CheckedWrite:
    """A write under a lease. A process that was suspended while waiting for it checks that it still holds the lease.

    Otherwise the next effect would happen although another worker relies on its not having happened.
    """

    def __init__(self, ticket: Awaitable[None], journal: "DatabaseJournal", lease: Lease) -> None:
        self.ticket = ticket
        self._journal = journal
        self._lease = lease
        self._began = monotonic()

    def __await__(self) -> Generator[Any, None, None]:
        yield from self.ticket.__await__()
        if monotonic() - self._began > self._lease.seconds / PAUSE:
            yield from self._journal.check(self._lease).__await__()
