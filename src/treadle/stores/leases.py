"""Who carries a run on: a lease on it, for a while, with a token that grows whenever somebody new takes it.

Time is the database's own, so that workers needn't agree on one. Whoever was silent for longer than a lease can lose it without
noticing; what it writes then is refused by its token, which isn't the newest any more (`DatabaseJournal.append_under`).
"""

from collections.abc import Awaitable, Generator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from treadle.core.entries import Entry
from treadle.guard.redaction import Redactor
from treadle.stores.database import Connection, Database
from treadle.stores.encryption import PLAIN

if TYPE_CHECKING:
    from treadle.stores.journal import DatabaseJournal


class Lease(Struct, frozen=True):
    """A run that `holder` carries on, for so many seconds after it was taken or last renewed."""

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
        self._renew = f"UPDATE leases SET until = {now} + ? WHERE run_id = ? AND token = ? AND holder <> ''"  # noqa: S608
        self._expired = f"SELECT run_id FROM leases WHERE holder <> '' AND until <= {now} ORDER BY until, run_id"  # noqa: S608

    async def take(self, run_id: str, holder: str, seconds: float) -> Lease | None:
        """A lease on a run; None where somebody has one, be it the same holder."""

        def taken(connection: Connection) -> int | None:
            if connection.execute(self._take, (run_id, holder, seconds)).rowcount != 1:
                return None
            return connection.execute("SELECT token FROM leases WHERE run_id = ?", (run_id,)).fetchone()[0]

        token = await self._database.submit(taken)
        return None if token is None else Lease(run_id, holder, token, seconds)

    async def renew(self, lease: Lease) -> bool:
        """Have it for as long again, from now; False where it was given up or somebody else has taken it."""
        values = (lease.seconds, lease.run_id, lease.token)
        return await self._database.submit(lambda connection: connection.execute(self._renew, values).rowcount) == 1

    async def give_up(self, lease: Lease) -> None:
        """Let others have the run at once. Where it isn't ours any more, nothing happens."""
        query = "UPDATE leases SET holder = '', until = 0 WHERE run_id = ? AND token = ?"
        await self._database.submit(lambda connection: connection.execute(query, (lease.run_id, lease.token)).rowcount)

    async def expired(self) -> list[str]:
        """The runs whose holders have been silent for too long, the longest first; not those that were given up."""
        return [row[0] for row in await self._database.submit(lambda connection: connection.execute(self._expired).fetchall())]


def is_newest(connection: Connection, lease: Lease, share: str) -> bool:
    """Whether it wasn't given up, and nobody has taken it since. With `share`, nobody does before this transaction is over."""
    query = f"SELECT 1 FROM leases WHERE run_id = ? AND token = ? AND holder <> ''{share}"  # noqa: S608 - our own words
    return connection.execute(query, (lease.run_id, lease.token)).fetchone() is not None


PAUSE = 3  # of a lease, the part after which whoever comes back makes sure that it still has it


class Fenced:
    """A journal for whoever carries a run on under a lease: of the run itself, and of runs inside of it."""

    def __init__(self, journal: "DatabaseJournal", lease: Lease) -> None:
        self._journal = journal
        self.lease = lease
        self._last: _Sure | None = None

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Write entries, unless somebody else has taken the lease; `RunTaken` then."""
        return self.append_hiding(run_id, position, entries, PLAIN)

    def append_hiding(self, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor) -> Awaitable[None]:
        """Write entries as `append` does, where a run has a redactor of its own."""
        ticket = self._journal.append_under(self.lease, run_id, position, entries, redactor)
        if self._last is None or self._last.ticket is not ticket:
            self._last = _Sure(ticket, self._journal, self.lease)
        return self._last

    async def read(self, run_id: str) -> list[Entry]:
        """All entries of a run."""
        return await self._journal.read(run_id)


class _Sure:
    """A write under a lease. Whoever was frozen while it waited for it makes sure that nobody has the run by now.

    The effect that comes next would else happen although somebody else goes by its not having happened.
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
