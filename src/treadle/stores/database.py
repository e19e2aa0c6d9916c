"""The base of every database: one writer thread, and the jobs that are submitted to it.

Jobs are buffered for a moment and committed together: many runs share one commit, no commit ever blocks the event loop, and
jobs are safe on disk in the order they were submitted. A job that is awaited is handed to the writer at once.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from treadle.core.errors import TreadleError
from treadle.stores.encryption import Cipher

Value = TypeVar("Value")

BATCH_SECONDS = 0.01  # seconds in which writes without a waiting caller are batched: a commit costs far more than its content

MAX_ROWS = 64  # of one statement; so many different ones SQLite can keep ready


class Cursor(Protocol):
    """The result of a statement: its rows, or how many rows it changed."""

    @property
    def rowcount(self) -> int:
        """The number of changed rows."""
        ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A database connection as jobs see it, for any database. Placeholders are written as `?`."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor:
        """Execute a statement."""
        ...

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]], /) -> Cursor:
        """Execute a statement once for each sequence of parameters."""
        ...


class SqlDialect(Struct, frozen=True):
    """SQL that differs between SQLite and PostgreSQL.

    begin           begins a transaction that writes
    snapshot        begins a read-only transaction that sees one state
    like            compares with a pattern, ignoring case
    glob            returns the condition that matches a column against a glob, and the parameter for it
    json_field      selects a field of an audit record
    blob            the type of binary data
    now             seconds since 1970, by the database's own clock
    day             the key of a day; `format_day` makes a date of it
    join_hint       joins a small table to a large one
    lock_shared     locks a row against changes until the transaction ends
    lock_exclusive  locks a row against other transactions until this one ends
    skip_locked     the same, skipping rows that another transaction has locked
    text_codec      encodes a text that may have any character, for storage
    has_table       selects whether a table of that name exists
    """

    begin: str
    snapshot: str
    like: str
    glob: Callable[[str, str], tuple[str, str]]
    json_field: str
    blob: str
    now: str
    day: str
    format_day: Callable[[Any], str]
    join_hint: str
    lock_shared: str
    lock_exclusive: str
    skip_locked: str
    text_codec: Callable[[str], Any]
    has_table: str


class Ticket(Generic[Value]):
    """Awaitable handle of a submitted job. The job runs, in order, whether this is awaited or not."""

    __slots__ = ("_database", "_done", "_error", "_value", "_waiters", "job", "loop")

    def __init__(self, job: Callable[[Connection], Value], database: "Database", loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.job = job
        self._database = database
        self._done = False
        self._value: Value | None = None
        self._error: Exception | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def carry_out(self, connection: Connection) -> None:
        """Run the job; called by the writer inside its transaction, and again where the transaction had to be restarted."""
        self._error = None
        try:
            self._value = self.job(connection)
        except TreadleError as error:
            self._error = error

    def fail(self, error: Exception) -> None:
        """Mark the job as failed, because its transaction did."""
        self._error = self._error or error

    def settle(self) -> None:
        """Wake the waiters; called in the ticket's own event loop."""
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
        return self._value  # pyright: ignore[reportReturnType]  # set by carry_out where there is no error


class JobBuffer:
    """Jobs of one event loop that the writer doesn't have yet. A job with a key can still be extended.

    `timer` hands them over, unless a caller that waits has done so.
    """

    __slots__ = ("by_key", "tickets", "timer")

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.tickets: list[Ticket[Any]] = []
        self.by_key: dict[str, Ticket[Any]] = {}
        self.timer = timer


class Database(ABC):
    """A database and its writer thread. Opened at its first use; `close` waits for submitted jobs.

    The stores encrypt secrets with its `cipher`.
    """

    words: SqlDialect
    rests_after: float | None = None  # seconds without a job after which the writer lets go of its connection

    def __init__(self, cipher: Cipher) -> None:
        self.cipher = cipher
        self._gathered: dict[asyncio.AbstractEventLoop, JobBuffer] = {}
        self._jobs: SimpleQueue[list[Ticket[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name for display; it contains no secret."""

    @abstractmethod
    def exists(self) -> bool:
        """Return whether the database may contain data. Where it can't, reading must not create it."""

    @abstractmethod
    def apart(self) -> AbstractContextManager[Connection]:
        """Open a connection besides the writer's, for long work in the calling thread. It has its own transactions."""

    @abstractmethod
    def purge(self) -> bool:
        """Overwrite deleted data, where that is up to us; return False where a reader still holds a part of it.

        Takes long: run it in a thread of its own.
        """

    @abstractmethod
    def _commit(self, batch: "Sequence[Ticket[Any]]") -> None:
        """Run all jobs of a batch and commit them, or raise. Only the writer calls it."""

    @abstractmethod
    def _translate_error(self, error: Exception) -> Exception:
        """Return an error of the database with a message for the user."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the writer's connection. Only the writer calls it."""

    def submit(self, job: Callable[[Connection], Value], key: str = "") -> Ticket[Value]:
        """Submit a job. `find_pending` returns it by its `key` for as long as it can be extended."""
        loop = asyncio.get_running_loop()
        gathering = self._gathered.get(loop)
        if gathering is None:
            gathering = self._gathered[loop] = JobBuffer(loop.call_later(BATCH_SECONDS, self.hurry, loop))
        ticket = Ticket(job, self, loop)
        gathering.tickets.append(ticket)
        if key:
            gathering.by_key[key] = ticket
        return ticket

    def find_pending(self, key: str) -> Ticket[Any] | None:
        """Return the job with this key, if the writer doesn't have it yet."""
        gathering = self._gathered.get(asyncio.get_running_loop())
        return None if gathering is None else gathering.by_key.get(key)

    def hurry(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand the buffered jobs of a loop to the writer, and those of loops that are closed by now."""
        if (mine := self._gathered.get(loop)) is not None:
            mine.timer.cancel()  # else it would hand over jobs that come later, before their time
        for other in list(self._gathered):
            if other is loop or other.is_closed():
                self._flush_loop(other)

    def _flush_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        gathering = self._gathered.pop(loop, None)
        if gathering is not None:
            self._start()
            self._jobs.put(gathering.tickets)

    def close(self) -> None:
        """Finish the submitted jobs and close the database."""
        for loop in list(self._gathered):
            self._flush_loop(loop)
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
                self._thread = threading.Thread(target=self._run_writer, name="treadle-database", daemon=True)
                self._thread.start()

    def _run_writer(self) -> None:
        """Run the writer thread: take the queued jobs, commit them together, wake the waiters."""
        more = True
        while more:
            batch, more = self._next_batch()
            try:
                if batch:
                    self._commit(batch)
            except Exception as error:  # noqa: BLE001 - whatever the database or the disk says, the waiting runs must hear it
                told = self._translate_error(error)
                for ticket in batch:
                    ticket.fail(told)
            _notify_loops(batch)
        self._disconnect()

    def _next_batch(self) -> "tuple[list[Ticket[Any]], bool]":
        """Wait for jobs and return all there are; False says that it was the last batch."""
        batch: list[Ticket[Any]] = []
        jobs = self._wait_for_jobs()
        while jobs is not None:
            batch += jobs
            try:
                jobs = self._jobs.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _wait_for_jobs(self) -> "list[Ticket[Any]] | None":
        try:
            return self._jobs.get(timeout=self.rests_after)
        except Empty:
            self._disconnect()
            return self._jobs.get()


def decode_stored_text(kept: str | bytes) -> str:
    """Decode a text that `SqlDialect.text_codec` encoded."""
    return kept if isinstance(kept, str) else kept.decode()


def insert_rows(connection: Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with as few statements as possible: each one releases the GIL to the event loop and waits to get it back."""
    for start in range(0, len(rows), MAX_ROWS):
        some = rows[start : start + MAX_ROWS]
        marks = ",".join([f"({','.join('?' * len(some[0]))})"] * len(some))
        connection.execute(f"INSERT INTO {table} VALUES {marks}", [value for row in some for value in row])  # noqa: S608 - our own names


def _notify_loops(batch: Sequence[Ticket[Any]]) -> None:
    """Notify each event loop once about all its tickets. A closed loop has no waiters."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Ticket[Any]]] = {}
    for ticket in batch:
        by_loop.setdefault(ticket.loop, []).append(ticket)
    for loop, tickets in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve_all, tickets)
        except RuntimeError:
            continue


def _resolve_all(tickets: Sequence[Ticket[Any]]) -> None:
    for ticket in tickets:
        ticket.settle()
