"""What every database has in common: one thread that writes it, and the jobs that are handed to it.

Jobs are gathered for a moment and committed together: many runs share one commit, no commit ever blocks the event loop, and
jobs are safe on disk in the order they were handed in. A job that somebody waits for isn't kept waiting.
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

GATHER = 0.01  # seconds in which jobs nobody waits for are gathered: a commit costs far more than what is in it

MOST_ROWS = 64  # of one statement; so many different ones SQLite can keep ready


class Cursor(Protocol):
    """What a statement found, or how many rows it changed."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Any:
        """The next row; None where there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection as jobs see it, whichever database it leads to. Values stand where a statement has a `?`."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor:
        """Carry a statement out."""
        ...

    def executemany(self, sql: str, parameters: Sequence[Sequence[Any]], /) -> Cursor:
        """Carry a statement out for each of these."""
        ...


class Words(Struct, frozen=True):
    """What one database says otherwise than another.

    begin     begins a transaction that writes
    snapshot  begins one that only looks, at one moment
    like      compares with a pattern, whether letters are large or small
    glob      a column that is held against a glob, and what stands for the glob
    said      a field of an audit record
    blob      the type of bytes
    now       seconds since 1970, by the database's own clock
    day       the key of a day; `day_of` makes a date of it
    beside    joins a small table to a large one
    share     so that nobody changes a row before this is over
    lock      so that nobody else has a row before this is over
    skip      the same, for rows that nobody else has: the others aren't waited for
    kept      a text that may have any character, as it is kept
    has_table whether there is a table of that name
    """

    begin: str
    snapshot: str
    like: str
    glob: Callable[[str, str], tuple[str, str]]
    said: str
    blob: str
    now: str
    day: str
    day_of: Callable[[Any], str]
    beside: str
    share: str
    lock: str
    skip: str
    kept: Callable[[str], Any]
    has_table: str


class Ticket(Generic[Value]):
    """A job handed in. Await it for its outcome, or don't: it is carried out all the same, and in order."""

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
        """Do the job; called by the writer, inside its transaction. Again, where the transaction had to be begun again."""
        self._error = None
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


class Database(ABC):
    """A database and its writer. Opened at its first use; `close` waits for what was handed in.

    By its `cipher` the stores encrypt what holds a secret.
    """

    words: Words
    rests_after: float | None = None  # seconds without a job after which the writer lets go of its connection

    def __init__(self, cipher: Cipher) -> None:
        self.cipher = cipher
        self._gathered: dict[asyncio.AbstractEventLoop, Gathering] = {}
        self._jobs: SimpleQueue[list[Ticket[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    @abstractmethod
    def name(self) -> str:
        """What a person calls it; there is no secret in it."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there can be something in it. Where there can't, looking is to make nothing."""

    @abstractmethod
    def apart(self) -> AbstractContextManager[Connection]:
        """A connection besides the writer's, for work that takes long; for the thread that asks. Its transactions are its own."""

    @abstractmethod
    def purge(self) -> bool:
        """Overwrite what was deleted, where that is ours to do; False where somebody who reads keeps a part of it for now.

        Takes long; for a thread of its own.
        """

    @abstractmethod
    def _commit(self, batch: "Sequence[Ticket[Any]]") -> None:
        """Carry all jobs of a batch out and commit them, or raise. Only the writer calls it."""

    @abstractmethod
    def _translated(self, error: Exception) -> Exception:
        """An error of the database's, as a person should read it."""

    @abstractmethod
    def _let_go(self) -> None:
        """Close the writer's connection. Only the writer calls it."""

    def submit(self, job: Callable[[Connection], Value], key: str = "") -> Ticket[Value]:
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
        """Finish what was handed in and let go of the database."""
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
        more = True
        while more:
            batch, more = self._next_batch()
            try:
                if batch:
                    self._commit(batch)
            except Exception as error:  # noqa: BLE001 - whatever the database or the disk says, the waiting runs must hear it
                told = self._translated(error)
                for ticket in batch:
                    ticket.fail(told)
            _settle(batch)
        self._let_go()

    def _next_batch(self) -> "tuple[list[Ticket[Any]], bool]":
        """All jobs there are, once there are any; False says that it was the last batch."""
        batch: list[Ticket[Any]] = []
        jobs = self._first_jobs()
        while jobs is not None:
            batch += jobs
            try:
                jobs = self._jobs.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _first_jobs(self) -> "list[Ticket[Any]] | None":
        try:
            return self._jobs.get(timeout=self.rests_after)
        except Empty:
            self._let_go()
            return self._jobs.get()


def text_of(kept: str | bytes) -> str:
    """A text that was kept by `Words.kept`."""
    return kept if isinstance(kept, str) else kept.decode()


def insert_rows(connection: Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with as few statements as can be: each one hands the interpreter to the event loop and waits to get it back."""
    for start in range(0, len(rows), MOST_ROWS):
        some = rows[start : start + MOST_ROWS]
        marks = ",".join([f"({','.join('?' * len(some[0]))})"] * len(some))
        connection.execute(f"INSERT INTO {table} VALUES {marks}", [value for row in some for value in row])  # noqa: S608 - our own names


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
