"""The journal in a database. It refuses a write where another process has written since, and one without the lease."""

import re
from collections.abc import Awaitable, Iterable, Iterator, Sequence

from msgspec import Struct

from treadle.core.entries import Awaited, Entry, Finished, Opened, Resumed, Returned, Said, Woken, decode, encode
from treadle.core.errors import RunNotFound, RunTaken
from treadle.guard.redaction import Redactor
from treadle.stores.database import Connection, Database
from treadle.stores.encryption import PLAIN, Cipher
from treadle.stores.leases import Lease, holds_lease
from treadle.stores.memory import not_found_error, taken_error


class RunInfo(Struct, frozen=True):
    """A run as it appears in lists. `status` is "open" while its turn isn't over, else how it stopped."""

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


class JournalQuery(Struct, frozen=True):
    """Filter for a list of runs: by status, by agent, by words in the title, by feedback, and from a cursor on.

    `before` is where the previous page ended, as `cursor_of` returns it. With `asks`, runs that wait only for a time or an event
    are left out.
    """

    search: str = ""
    status: str = ""
    agent: str = ""
    before: tuple[float, str] | None = None
    limit: int = 50
    asks: bool = False
    rating: str = ""  # "good" or "bad": runs with an answer that a user has rated so


_ALL_RUNS = JournalQuery()


def cursor_of(run: RunInfo) -> tuple[float, str]:
    """Return the list cursor of a run: lists are sorted by time, then by id, newest first."""
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

_PREFIX = re.compile(r"[A-Za-z0-9_-]+")  # of a run's id; nothing that means something to GLOB
_ESCAPED = re.compile("[%_!]")  # what means something to LIKE
_LONGEST = 80  # characters of a title
_LOOK = 2_000  # characters in which the secrets of a title are looked for
_MOST_WORDS = 20  # of a search; SQLite takes no query of any size


def _lost_lease_error(lease: Lease) -> RunTaken:
    return RunTaken(f"Another worker carries run {lease.run_id} on by now, since {lease.holder} was silent; nothing was written.")


class DatabaseJournal:
    """A journal in a database: one line per entry; lines written together share a row. Lines with a secret are encrypted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def database(self) -> Database:
        """The database of the entries."""
        return self._database

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        """Write entries at `position`; together with the ones before them, if those haven't been handed to the writer yet."""
        return self.append_hiding(run_id, position, entries, PLAIN)

    def append_hiding(self, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor) -> Awaitable[None]:
        """Write entries as `append` does, for a run with its own redactor: what that finds is a secret too."""
        return self._append(run_id, position, entries, None, redactor)

    def append_with_lease(
        self, lease: Lease, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor = PLAIN
    ) -> Awaitable[None]:
        """Write entries under a lease. Raises `RunTaken`, and writes nothing, if another worker has taken the lease."""
        return self._append(run_id, position, entries, lease, redactor)

    async def check(self, lease: Lease) -> None:
        """Raise `RunTaken` if another worker has taken the lease."""
        if not await self._database.submit(lambda connection: holds_lease(connection, lease, "")):
            raise _lost_lease_error(lease)

    def _append(
        self, run_id: str, position: int, entries: Sequence[Entry], lease: Lease | None, redactor: Redactor
    ) -> Awaitable[None]:
        lines = [encode(entry) for entry in entries]
        ticket = self._database.find_pending(run_id)
        if ticket is not None and isinstance(ticket.job, _EntryWrite) and ticket.job.goes_on(position, lease, redactor):
            ticket.job.add(lines, entries)
            return ticket
        hiding = _SecretPolicy(self._database.cipher, redactor)
        return self._database.submit(
            _EntryWrite(run_id, position, lines, entries, lease, self._database.words.lock_shared, hiding), run_id
        )

    async def read(self, run_id: str) -> list[Entry]:
        """Return all entries of a run."""
        query = "SELECT lines FROM entries WHERE run_id = ? ORDER BY position"
        writes = await self._database.submit(lambda connection: connection.execute(query, (run_id,)).fetchall())
        if not writes:
            raise not_found_error(run_id)
        return decode_lines(self._database.cipher, run_id, writes)

    async def read_from(self, run_id: str, position: int) -> list[Entry]:
        """Return the entries of a run from a position on, without reading those before it."""
        first, writes = await self._database.submit(lambda connection: _read_from(connection, run_id, position))
        return decode_lines(self._database.cipher, run_id, writes)[position - first :]

    async def children(self, run_id: str) -> list[str]:
        """Return the ids of the runs nested in this one, at any depth."""
        return await self._database.submit(lambda connection: children_of(connection, run_id))

    async def ended_before(self, moment: float) -> list[RunInfo]:
        """Return the root runs whose turn ended before a time and that don't wait for approval, oldest first."""
        query = f"{_INFO} WHERE parent = '' AND status NOT IN ('open', 'waiting') AND updated_at < ? ORDER BY updated_at"
        rows = await self._database.submit(lambda connection: connection.execute(query, (moment,)).fetchall())
        return [RunInfo(*row) for row in rows]

    async def list_runs(self, wanted: JournalQuery = _ALL_RUNS) -> list[RunInfo]:
        """Return the root runs that match a query, newest first. Creates nothing where nothing was ever written."""
        if not self._database.exists():
            return []
        where, values = _to_sql(wanted, self._database.words.like)
        query = f"{_INFO} WHERE {where} ORDER BY updated_at DESC, run_id DESC LIMIT ?"
        rows = await self._database.submit(lambda connection: connection.execute(query, (*values, wanted.limit)).fetchall())
        return [RunInfo(*row) for row in rows]

    async def resolve(self, typed: str) -> str:
        """Return the id of the run that a person means: its id, a unique prefix of a root run's, or `last`."""
        from treadle.core.id_matching import require_one  # only commands need it

        found = await self._database.submit(lambda connection: self._find_candidates(connection, typed))
        return require_one(typed, found, "run", RunNotFound)

    def _find_candidates(self, connection: Connection, typed: str) -> list[tuple[str, str]]:
        from treadle.core.id_matching import LAST, MOST_CANDIDATES

        exact = connection.execute("SELECT run_id, title FROM runs WHERE run_id = ?", (typed,)).fetchall()
        if exact or not (typed == LAST or _PREFIX.fullmatch(typed)):
            return exact
        if typed == LAST:
            return connection.execute(
                "SELECT run_id, title FROM runs WHERE parent = '' ORDER BY updated_at DESC LIMIT 1"
            ).fetchall()
        condition, prefix = self._database.words.glob("run_id", f"{typed}*")
        query = f"SELECT run_id, title FROM runs WHERE parent = '' AND {condition} ORDER BY updated_at DESC LIMIT ?"  # noqa: S608 - our own words
        return connection.execute(query, (prefix, MOST_CANDIDATES + 1)).fetchall()

    async def info(self, run_id: str) -> RunInfo:
        """Return the list entry of one run."""
        rows = await self._database.submit(lambda connection: connection.execute(f"{_INFO} WHERE run_id = ?", (run_id,)).fetchall())
        if not rows:
            raise not_found_error(run_id)
        return RunInfo(*rows[0])


def _read_from(connection: Connection, run_id: str, position: int) -> tuple[int, list[tuple[bytes]]]:
    """Return the rows that have the entries from a position on, and the position of the first entry in them."""
    begins = "SELECT position FROM entries WHERE run_id = ? AND position <= ? ORDER BY position DESC LIMIT 1"
    found = connection.execute(begins, (run_id, position)).fetchone()
    first = position if found is None else found[0]
    query = "SELECT lines FROM entries WHERE run_id = ? AND position >= ? ORDER BY position"
    return first, connection.execute(query, (run_id, first)).fetchall()


def children_of(connection: Connection, run_id: str) -> list[str]:
    """Return the ids of the runs nested in a run, at any depth."""
    return [row[0] for row in connection.execute(_CHILDREN, (run_id,)).fetchall()]


def _to_sql(wanted: JournalQuery, like: str) -> tuple[str, list[object]]:
    """Return the query as a SQL condition with the values of its placeholders. All words of a search have to match."""
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
    if wanted.asks:
        clauses.append("NOT EXISTS (SELECT 1 FROM waits WHERE waits.root = runs.run_id AND waits.asks = 0)")
    if wanted.rating:
        clauses.append("EXISTS (SELECT 1 FROM feedback WHERE feedback.run_id = runs.run_id AND rating = ?)")
        values.append(wanted.rating)
    if wanted.before is not None:
        clauses.append("(updated_at, run_id) < (?, ?)")
        values += wanted.before
    return " AND ".join(clauses), values


def decode_lines(cipher: Cipher, run_id: str, rows: Iterable[tuple[bytes]]) -> list[Entry]:
    """Decode the entries of a run from its rows."""
    return [decode(line) for line in decrypt_lines(cipher, run_id, rows)]


def decrypt_lines(cipher: Cipher, run_id: str, rows: Iterable[tuple[bytes]]) -> Iterator[bytes]:
    """Yield the decrypted lines in a run's rows."""
    return (cipher.read(line, run_id) for (lines,) in rows for line in lines.split(b"\n"))


class _SecretPolicy(Struct, frozen=True):
    """How secrets are kept out of a database: what finds them, and what encrypts them."""

    cipher: Cipher
    redactor: Redactor = PLAIN


class _EntryWrite:
    """Entries of one run that are committed together; under a lease, where there is one."""

    __slots__ = ("_entries", "_hiding", "_lease", "_lines", "_position", "_run_id", "_share")

    def __init__(
        self,
        run_id: str,
        position: int,
        lines: Sequence[bytes],
        entries: Sequence[Entry],
        lease: Lease | None,
        share: str,
        hiding: _SecretPolicy,
    ) -> None:
        self._run_id = run_id
        self._position = position
        self._lines = [*lines]
        self._entries = [*entries]
        self._lease = lease
        self._share = share
        self._hiding = hiding

    def goes_on(self, position: int, lease: Lease | None, redactor: Redactor) -> bool:
        """Return whether an entry at `position` comes next, under the same lease and with the same redactor."""
        return position == self._position + len(self._entries) and lease == self._lease and redactor is self._hiding.redactor

    def add(self, lines: Sequence[bytes], entries: Sequence[Entry]) -> None:
        """Add further entries right after these."""
        self._lines.extend(lines)
        self._entries.extend(entries)

    def __call__(self, connection: Connection) -> None:
        if self._lease is not None and not holds_lease(connection, self._lease, self._share):
            raise _lost_lease_error(self._lease)
        _insert(connection, self._run_id, self._position, self._lines, self._entries, self._hiding)


_INSERT = (
    "INSERT INTO entries SELECT ?, ?, ?, ?"
    " WHERE coalesce((SELECT next FROM entries WHERE run_id = ? ORDER BY position DESC LIMIT 1), 0) = ? ON CONFLICT DO NOTHING"
)


def _insert(
    connection: Connection, run_id: str, position: int, lines: Sequence[bytes], entries: Sequence[Entry], hiding: _SecretPolicy
) -> None:
    """Write the lines, unless the run isn't at the writer's position; this is also what fences off a second writer."""
    safe = hiding.cipher.safe_lines(lines, run_id, hiding.redactor)
    row = (run_id, position, position + len(lines), b"\n".join(safe))
    if connection.execute(_INSERT, (*row, run_id, position)).rowcount != 1:
        raise taken_error(run_id)
    if position == 0:
        _insert_run(connection, run_id, entries, hiding.redactor)
    elif status := _derive_status(entries):
        connection.execute(
            "UPDATE runs SET status = ?, updated_at = ?, title = coalesce(nullif(title, ''), ?) WHERE run_id = ?",
            (status, entries[-1].at, _derive_title(entries, hiding.redactor), run_id),
        )
        if status not in ("open", "waiting"):  # after the update, whose lock a request that comes at this moment waits for
            connection.execute("DELETE FROM cancel_requests WHERE run_id = ?", (run_id,))
    if any(map(_concerns_waits, entries)):
        from treadle.stores.waits import write_waits  # few runs need it

        write_waits(connection, run_id, entries)


def _concerns_waits(entry: Entry) -> bool:
    """Return whether an entry begins or ends a wait, or all waits of a turn."""
    match entry:
        case Returned():
            return entry.waited
        case Finished():
            return entry.stopped == "waiting" or not entry.resumable
        case _:
            return isinstance(entry, Awaited | Woken)


def open_run(connection: Connection, run_id: str, entries: Sequence[Entry], cipher: Cipher) -> None:
    """Create a run inside an open transaction. Raises `RunTaken` if the id exists."""
    _insert(connection, run_id, 0, [encode(entry) for entry in entries], entries, _SecretPolicy(cipher))


def _insert_run(connection: Connection, run_id: str, entries: Sequence[Entry], redactor: Redactor) -> None:
    opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
    about = (
        run_id,
        opened.parent,
        opened.agent,
        opened.model,
        opened.user,
        _derive_title(entries, redactor),
        _derive_status(entries) or "open",
    )
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*about, entries[0].at, entries[-1].at))
    if "about" in opened.origin:
        from treadle.stores.conversations import session_of, write_session  # few runs need it

        if session := session_of(opened):
            write_session(connection, run_id, session)


def _derive_status(entries: Sequence[Entry]) -> str | None:
    """Return the status these entries leave a run in; None where they don't change it."""
    status = None
    for entry in entries:
        if isinstance(entry, Finished):
            status = entry.stopped
        elif isinstance(entry, Said | Resumed):
            status = "open"
    return status


def _derive_title(entries: Sequence[Entry], redactor: Redactor) -> str:
    """Return the beginning of the first user message, with secrets redacted, also one that ends beyond it."""
    said = next((entry.text for entry in entries if isinstance(entry, Said)), "")
    return redactor.text(" ".join(said.split())[:_LOOK])[:_LONGEST]
