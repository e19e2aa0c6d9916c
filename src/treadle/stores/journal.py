"""Where entries are kept: in memory, or in a database. Both refuse to write where somebody else has written."""

import re
from collections.abc import Awaitable, Generator, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from treadle.core.entries import Entry, Finished, Opened, Resumed, Said, decode, encode
from treadle.core.errors import RunNotFound, RunTaken
from treadle.guard.redaction import Redactor
from treadle.stores.database import Connection, Database
from treadle.stores.encryption import PLAIN, Cipher
from treadle.stores.leases import Lease, is_newest


class RunInfo(Struct, frozen=True):
    """A run as lists show it. `status` is "open" while its turn isn't over, else how it stopped."""

    run_id: str
    parent: str = ""
    agent: str = ""
    model: str = ""
    user: str = ""
    title: str = ""
    status: str = "open"
    opened_at: float = 0.0
    updated_at: float = 0.0  # when its status last changed
    entries: int = 0


class Wanted(Struct, frozen=True):
    """Which runs a list is of: those of a status, of an agent, with these words in their titles, after a place in the list.

    `before` is where another list ended, as `place_of` says it.
    """

    search: str = ""
    status: str = ""
    agent: str = ""
    before: tuple[float, str] | None = None
    limit: int = 50


def place_of(run: RunInfo) -> tuple[float, str]:
    """Where a run stands in lists: they go by time, then by id, the newest first."""
    return run.updated_at, run.run_id


_INFO = (
    'SELECT run_id, parent, agent, model, "user", title, status, opened_at, updated_at, '
    "(SELECT max(next) FROM entries WHERE entries.run_id = runs.run_id) FROM runs"
)


_CHILDREN = (
    "WITH RECURSIVE inside (run_id) AS (SELECT run_id FROM runs WHERE parent = ? AND parent <> '' "
    "UNION SELECT runs.run_id FROM runs JOIN inside ON runs.parent = inside.run_id AND runs.parent <> '') "
    "SELECT run_id FROM inside ORDER BY run_id"
)

_ESCAPED = re.compile("[%_!]")  # what means something to LIKE
_LONGEST = 80  # characters of a title
_LOOK = 2_000  # characters in which the secrets of a title are looked for
_MOST_WORDS = 20  # of a search; SQLite takes no query of any size


def _taken(run_id: str) -> RunTaken:
    return RunTaken(f"Somebody else has written to run {run_id} in the meantime; read it again before you go on.")


def _lost(lease: Lease) -> RunTaken:
    return RunTaken(f"Another worker carries run {lease.run_id} on by now, since {lease.holder} was silent; nothing was written.")


def _missing(run_id: str) -> RunNotFound:
    return RunNotFound(f"There is no run {run_id} here. `treadle runs` lists them.")


class _Done:
    """Awaitable, and over already, well or not."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def __await__(self) -> Generator[Any, None, None]:
        if self._error is not None:
            raise self._error
        yield from ()


DONE = _Done()  # for stores that have nothing to wait for


class MemoryJournal:
    """Entries in this process only."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Entry]] = {}

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Keep entries at `position`."""
        kept = self._runs.setdefault(run_id, [])
        if len(kept) != position:
            return _Done(_taken(run_id))
        kept.extend(entries)
        return DONE

    async def read(self, run_id: str) -> list[Entry]:
        """All entries of a run."""
        if run_id not in self._runs:
            raise _missing(run_id)
        return list(self._runs[run_id])

    async def children(self, run_id: str) -> list[str]:
        """The runs that were opened inside of this one, however deep."""
        opened = [(other, entries[0]) for other, entries in self._runs.items()]
        found = [other for other, first in opened if run_id and isinstance(first, Opened) and first.parent == run_id]
        return [inner for child in found for inner in (child, *await self.children(child))]

    def has(self, run_id: str) -> bool:
        """Whether there is such a run."""
        return run_id in self._runs

    async def forget(self, run_id: str) -> None:
        """Drop a run and the runs inside of it."""
        for other in (run_id, *await self.children(run_id)):
            self._runs.pop(other, None)


class DatabaseJournal:
    """Entries in a database: a line each, the lines that were written together in one row. Those with a secret are encrypted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def database(self) -> Database:
        """Where the entries are."""
        return self._database

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Write entries at `position`: together with those before them, if the writer doesn't have those yet."""
        return self.append_hiding(run_id, position, entries, PLAIN)

    def append_hiding(self, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor) -> Awaitable[None]:
        """Write entries as `append` does, where a run has a redactor of its own: what it finds is a secret too."""
        return self._append(run_id, position, entries, None, redactor)

    def append_under(
        self, lease: Lease, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor = PLAIN
    ) -> Awaitable[None]:
        """Write entries, unless somebody else has taken the lease; `RunTaken` then, and nothing is written."""
        return self._append(run_id, position, entries, lease, redactor)

    async def check(self, lease: Lease) -> None:
        """Make sure that nobody else has taken a lease; `RunTaken` where somebody has."""
        if not await self._database.submit(lambda connection: is_newest(connection, lease, "")):
            raise _lost(lease)

    def _append(
        self, run_id: str, position: int, entries: Sequence[Entry], lease: Lease | None, redactor: Redactor
    ) -> Awaitable[None]:
        lines = [encode(entry) for entry in entries]
        ticket = self._database.gathered(run_id)
        if ticket is not None and isinstance(ticket.job, _Write) and ticket.job.goes_on(position, lease, redactor):
            ticket.job.add(lines, entries)
            return ticket
        hiding = _Hiding(self._database.cipher, redactor)
        return self._database.submit(_Write(run_id, position, lines, entries, lease, self._database.words.share, hiding), run_id)

    async def read(self, run_id: str) -> list[Entry]:
        """All entries of a run."""
        query = "SELECT lines FROM entries WHERE run_id = ? ORDER BY position"
        writes = await self._database.submit(lambda connection: connection.execute(query, (run_id,)).fetchall())
        if not writes:
            raise _missing(run_id)
        return read_lines(self._database.cipher, run_id, writes)

    async def children(self, run_id: str) -> list[str]:
        """The runs that were opened inside of this one, however deep."""
        return await self._database.submit(lambda connection: children_of(connection, run_id))

    async def runs(self, limit: int = 50, status: str = "") -> list[RunInfo]:
        """The runs a person started, newest first."""
        query = f"{_INFO} WHERE parent = '' AND (? = '' OR status = ?) ORDER BY updated_at DESC LIMIT ?"
        rows = await self._database.submit(lambda connection: connection.execute(query, (status, status, limit)).fetchall())
        return [RunInfo(*row) for row in rows]

    async def ended_before(self, moment: float) -> list[RunInfo]:
        """The runs a person started whose turn was over before a moment, and that don't wait for anybody; the oldest first."""
        query = f"{_INFO} WHERE parent = '' AND status NOT IN ('open', 'waiting') AND updated_at < ? ORDER BY updated_at"
        rows = await self._database.submit(lambda connection: connection.execute(query, (moment,)).fetchall())
        return [RunInfo(*row) for row in rows]

    async def listed(self, wanted: Wanted) -> list[RunInfo]:
        """The runs a person started that are wanted, newest first. Where nothing was ever written, looking makes nothing."""
        if not self._database.exists():
            return []
        where, values = _where(wanted, self._database.words.like)
        query = f"{_INFO} WHERE {where} ORDER BY updated_at DESC, run_id DESC LIMIT ?"
        rows = await self._database.submit(lambda connection: connection.execute(query, (*values, wanted.limit)).fetchall())
        return [RunInfo(*row) for row in rows]

    async def info(self, run_id: str) -> RunInfo:
        """One run, as lists show it."""
        rows = await self._database.submit(lambda connection: connection.execute(f"{_INFO} WHERE run_id = ?", (run_id,)).fetchall())
        if not rows:
            raise _missing(run_id)
        return RunInfo(*rows[0])


def children_of(connection: Connection, run_id: str) -> list[str]:
    """The runs that were opened inside of a run, however deep."""
    return [row[0] for row in connection.execute(_CHILDREN, (run_id,)).fetchall()]


def _where(wanted: Wanted, like: str) -> tuple[str, list[object]]:
    """What is wanted, as SQL with the values for its marks. Of words that are searched for, each has to be there."""
    clauses: list[str] = ["parent = ''"]
    values: list[object] = []
    for words, value in (("status = ?", wanted.status), ("agent = ?", wanted.agent)):
        if value:
            clauses.append(words)
            values.append(value)
    for word in wanted.search.split()[:_MOST_WORDS]:
        escaped = _ESCAPED.sub(r"!\g<0>", word)
        clauses.append(f"(title {like} ? ESCAPE '!' OR run_id = ?)")
        values += [f"%{escaped}%", word]
    if wanted.before is not None:
        clauses.append("(updated_at, run_id) < (?, ?)")
        values += wanted.before
    return " AND ".join(clauses), values


def read_lines(cipher: Cipher, run_id: str, rows: Iterable[tuple[bytes]]) -> list[Entry]:
    """The entries of a run, from the lines in these rows."""
    return [decode(line) for line in plain_lines(cipher, run_id, rows)]


def plain_lines(cipher: Cipher, run_id: str, rows: Iterable[tuple[bytes]]) -> Iterator[bytes]:
    """The lines in these rows of a run, decrypted."""
    return (cipher.read(line, run_id) for (lines,) in rows for line in lines.split(b"\n"))


class _Hiding(Struct, frozen=True):
    """What keeps secrets out of a database: by what they are found, and by what they are encrypted."""

    cipher: Cipher
    redactor: Redactor = PLAIN


class _Write:
    """Entries of one run that go to the disk together; under a lease, where there is one."""

    __slots__ = ("_entries", "_hiding", "_lease", "_lines", "_position", "_run_id", "_share")

    def __init__(
        self,
        run_id: str,
        position: int,
        lines: Sequence[bytes],
        entries: Sequence[Entry],
        lease: Lease | None,
        share: str,
        hiding: _Hiding,
    ) -> None:
        self._run_id = run_id
        self._position = position
        self._lines = [*lines]
        self._entries = [*entries]
        self._lease = lease
        self._share = share
        self._hiding = hiding

    def goes_on(self, position: int, lease: Lease | None, redactor: Redactor) -> bool:
        """Whether an entry at `position` comes next, under the same lease, and with the same secrets."""
        return position == self._position + len(self._entries) and lease == self._lease and redactor is self._hiding.redactor

    def add(self, lines: Sequence[bytes], entries: Sequence[Entry]) -> None:
        """Further entries, right after these."""
        self._lines.extend(lines)
        self._entries.extend(entries)

    def __call__(self, connection: Connection) -> None:
        if self._lease is not None and not is_newest(connection, self._lease, self._share):
            raise _lost(self._lease)
        _insert(connection, self._run_id, self._position, self._lines, self._entries, self._hiding)


_INSERT = (
    "INSERT INTO entries SELECT ?, ?, ?, ?"
    " WHERE coalesce((SELECT next FROM entries WHERE run_id = ? ORDER BY position DESC LIMIT 1), 0) = ? ON CONFLICT DO NOTHING"
)


def _insert(
    connection: Connection, run_id: str, position: int, lines: Sequence[bytes], entries: Sequence[Entry], hiding: _Hiding
) -> None:
    """Write the lines, unless the run isn't where its writer thinks it is; that is also what fences a second writer off."""
    safe = [hiding.cipher.safe(line, run_id, hiding.redactor) for line in lines]
    row = (run_id, position, position + len(lines), b"\n".join(safe))
    if connection.execute(_INSERT, (*row, run_id, position)).rowcount != 1:
        raise _taken(run_id)
    if position == 0:
        _insert_run(connection, run_id, entries, hiding.redactor)
    elif status := _status(entries):
        connection.execute(
            "UPDATE runs SET status = ?, updated_at = ?, title = coalesce(nullif(title, ''), ?) WHERE run_id = ?",
            (status, entries[-1].at, _title(entries, hiding.redactor), run_id),
        )


def open_run(connection: Connection, run_id: str, entries: Sequence[Entry], cipher: Cipher) -> None:
    """A new run, inside of somebody's transaction; `RunTaken` where there is one by that id."""
    _insert(connection, run_id, 0, [encode(entry) for entry in entries], entries, _Hiding(cipher))


def _insert_run(connection: Connection, run_id: str, entries: Sequence[Entry], redactor: Redactor) -> None:
    opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
    about = (run_id, opened.parent, opened.agent, opened.model, opened.user, _title(entries, redactor), _status(entries) or "open")
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*about, entries[0].at, entries[-1].at))


def _status(entries: Sequence[Entry]) -> str | None:
    """The status these entries leave a run in; None where they say nothing about it."""
    status = None
    for entry in entries:
        if isinstance(entry, Finished):
            status = entry.stopped
        elif isinstance(entry, Said | Resumed):
            status = "open"
    return status


def _title(entries: Sequence[Entry], redactor: Redactor) -> str:
    """The first words a person said, without secrets: also one that ends beyond them."""
    said = next((entry.text for entry in entries if isinstance(entry, Said)), "")
    return redactor.text(" ".join(said.split())[:_LOOK])[:_LONGEST]
