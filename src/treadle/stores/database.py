"""One SQLite file and the one thread that writes it. What is kept in it is the business of the stores beside this.

Jobs are gathered for a moment and committed together: many runs share one commit, no commit ever blocks the event loop, and
jobs are safe on disk in the order they were handed in. A job that somebody waits for isn't kept waiting. Write-ahead log, full
synchronisation: committed means on the disk.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from treadle.core.errors import JournalDamaged, JournalError, TreadleError

if TYPE_CHECKING:
    from sqlite3 import Connection

Value = TypeVar("Value")

GATHER = 0.01  # seconds in which jobs nobody waits for are gathered: a commit costs far more than what is in it

MOST_ROWS = 64  # of one statement; so many different ones SQLite can keep ready

SCHEMA_VERSION = 2  # a file of an older one gets what it lacks; what is counted (stats_…) is then counted anew
SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, parent TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, opened_at REAL NOT NULL, updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_parent ON runs (parent) WHERE parent <> '';
CREATE TABLE IF NOT EXISTS entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, next INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS audit (seq INTEGER PRIMARY KEY, previous TEXT NOT NULL, line BLOB NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cache (
    key TEXT PRIMARY KEY, grp TEXT NOT NULL, content TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cache_by_group ON cache (grp);
CREATE TABLE IF NOT EXISTS results (
    run_id TEXT NOT NULL, result_id TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run_id, result_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stats_new (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS stats_new_runs AFTER INSERT ON runs BEGIN INSERT OR IGNORE INTO stats_new VALUES (new.run_id); END;
CREATE TRIGGER IF NOT EXISTS stats_new_status AFTER UPDATE OF status ON runs BEGIN
    INSERT OR IGNORE INTO stats_new VALUES (new.run_id);
END;
CREATE TABLE IF NOT EXISTS stats_who (
    who INTEGER PRIMARY KEY, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL, UNIQUE (agent, model, user)
);
CREATE TABLE IF NOT EXISTS stats_runs (
    run_id TEXT PRIMARY KEY, who INTEGER NOT NULL, opened_at REAL NOT NULL, position INTEGER NOT NULL, carried BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stats_calls (
    at REAL NOT NULL, who INTEGER NOT NULL, tool TEXT NOT NULL, problem TEXT, cached INTEGER NOT NULL, seconds REAL,
    tokens INTEGER NOT NULL, inner_tokens INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS stats_calls_by_time ON stats_calls (at);
CREATE TABLE IF NOT EXISTS stats_requests (
    at REAL NOT NULL, who INTEGER NOT NULL, requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, cost REAL
);
CREATE INDEX IF NOT EXISTS stats_requests_by_time ON stats_requests (at);
"""
COUNT_ANEW = """
DELETE FROM stats_calls;
DELETE FROM stats_requests;
DELETE FROM stats_runs;
DELETE FROM stats_who;
INSERT OR IGNORE INTO stats_new SELECT run_id FROM runs;
"""


class Ticket(Generic[Value]):
    """A job handed in. Await it for its outcome, or don't: it is carried out all the same, and in order."""

    __slots__ = ("_database", "_done", "_error", "_value", "_waiters", "job", "loop")

    def __init__(self, job: "Callable[[Connection], Value]", database: "Database", loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.job = job
        self._database = database
        self._done = False
        self._value: Value | None = None
        self._error: Exception | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def carry_out(self, connection: "Connection") -> None:
        """Do the job; called by the writer, inside its transaction."""
        try:
            self._value = self.job(connection)
        except TreadleError as error:
            self._error = error

    def fail(self, error: Exception) -> None:
        """The transaction failed, and this job with it."""
        self._error = self._error or error

    def settle(self) -> None:
        """Wake whoever waits; called in the ticket's own event loop."""
        self._done = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def __await__(self) -> Generator[Any, None, Value]:
        if not self._done:
            self._database.hurry(self.loop)
            waiter = self.loop.create_future()
            self._waiters.append(waiter)
            yield from waiter
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set by carry_out where there is no error


class Gathering:
    """Jobs of one event loop that the writer doesn't have yet. One that has a key can still be added to."""

    __slots__ = ("by_key", "tickets")

    def __init__(self) -> None:
        self.tickets: list[Ticket[Any]] = []
        self.by_key: dict[str, Ticket[Any]] = {}


class Database:
    """The file. Opened at its first use; `close` waits for what was handed in."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._gathered: dict[asyncio.AbstractEventLoop, Gathering] = {}
        self._jobs: SimpleQueue[list[Ticket[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def submit(self, job: "Callable[[Connection], Value]", key: str = "") -> Ticket[Value]:
        """Hand in a job. By its `key`, `gathered` finds it for as long as it can be added to."""
        loop = asyncio.get_running_loop()
        gathering = self._gathered.get(loop)
        if gathering is None:
            gathering = self._gathered[loop] = Gathering()
            loop.call_later(GATHER, self.hurry, loop)
        ticket = Ticket(job, self, loop)
        gathering.tickets.append(ticket)
        if key:
            gathering.by_key[key] = ticket
        return ticket

    def gathered(self, key: str) -> Ticket[Any] | None:
        """The job by this key, if the writer doesn't have it yet."""
        gathering = self._gathered.get(asyncio.get_running_loop())
        return None if gathering is None else gathering.by_key.get(key)

    def hurry(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the writer what a loop has gathered, and what loops have left behind that are gone by now."""
        for other in list(self._gathered):
            if other is loop or other.is_closed():
                self._hand_over(other)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        gathering = self._gathered.pop(loop, None)
        if gathering is not None:
            self._start()
            self._jobs.put(gathering.tickets)

    def close(self) -> None:
        """Finish what was handed in and let go of the file."""
        for loop in list(self._gathered):
            self._hand_over(loop)
        with self._starting:
            if self._thread is not None:
                self._jobs.put(None)
                self._thread.join()
                self._thread = None

    def _start(self) -> None:
        if self._thread is not None:
            return
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write, name="treadle-database", daemon=True)
                self._thread.start()

    def _write(self) -> None:
        """The writer's whole life: take what has queued up, commit it together, wake whoever waits."""
        connection: Connection | None = None
        while True:
            batch, more = self._next_batch()
            try:
                connection = connection or open_database(self.path)
                _commit(connection, batch)
            except Exception as error:  # noqa: BLE001 - whatever SQLite or the disk says, the waiting runs must hear it
                _fail(connection, batch, translated(error, self.path))
            _settle(batch)
            if not more:
                break
        if connection is not None:
            connection.close()

    def _next_batch(self) -> tuple[list[Ticket[Any]], bool]:
        """All jobs there are, once there are any; False says that it was the last batch."""
        batch: list[Ticket[Any]] = []
        jobs = self._jobs.get()
        while jobs is not None:
            batch += jobs
            try:
                jobs = self._jobs.get_nowait()
            except Empty:
                return batch, True
        return batch, False


def insert_rows(connection: "Connection", table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with as few statements as can be: each one hands the interpreter to the event loop and waits to get it back."""
    for start in range(0, len(rows), MOST_ROWS):
        some = rows[start : start + MOST_ROWS]
        marks = ",".join([f"({','.join('?' * len(some[0]))})"] * len(some))
        connection.execute(f"INSERT INTO {table} VALUES {marks}", [value for row in some for value in row])  # noqa: S608 - our own names


def _commit(connection: "Connection", batch: Sequence[Ticket[Any]]) -> None:
    if not batch:
        return
    connection.execute("BEGIN IMMEDIATE")
    for ticket in batch:
        ticket.carry_out(connection)
    connection.execute("COMMIT")


def _fail(connection: "Connection | None", batch: Sequence[Ticket[Any]], error: Exception) -> None:
    if connection is not None and connection.in_transaction:
        connection.execute("ROLLBACK")
    for ticket in batch:
        ticket.fail(error)


def _settle(batch: Sequence[Ticket[Any]]) -> None:
    """Tell each event loop once about all its tickets. A loop that is gone has nobody waiting."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Ticket[Any]]] = {}
    for ticket in batch:
        by_loop.setdefault(ticket.loop, []).append(ticket)
    for loop, tickets in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle_all, tickets)
        except RuntimeError:
            continue


def _settle_all(tickets: Sequence[Ticket[Any]]) -> None:
    for ticket in tickets:
        ticket.settle()


def translated(error: Exception, path: Path) -> Exception:
    """An error of SQLite's or of the disk's, as a person should read it."""
    import sqlite3

    if isinstance(error, TreadleError):
        return error
    if isinstance(error, sqlite3.DatabaseError) and any(word in str(error) for word in ("not a database", "malformed")):
        return JournalDamaged(f"{path} is damaged ({error}). Move it aside or restore a backup; nothing was written to it.")
    if isinstance(error, OSError | sqlite3.Error):
        return JournalError(f"{path} can't be written ({error}). Make room or set TREADLE_HOME to another folder, then resume.")
    return error


def open_database(path: Path) -> "Connection":
    """The file, made with its tables if it isn't there, readable by its owner only."""
    import sqlite3

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: "Connection", path: Path) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise JournalError(f"{path} was made by a newer Treadle; update Treadle to use it.")
    if version < SCHEMA_VERSION:
        connection.executescript(f"BEGIN IMMEDIATE;{SCHEMA}{COUNT_ANEW}PRAGMA user_version={SCHEMA_VERSION};COMMIT;")
