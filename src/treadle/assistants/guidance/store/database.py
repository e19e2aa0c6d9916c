"""Database transactions: reads see a consistent snapshot, writes are atomic.

SQLite has one writer at a time; a write transaction starts as a writer at once, so that two can't both read and then
block each other. Database errors are raised as `StoreError`.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, assert_never, cast

import msgspec
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from treadle.assistant import purge_sqlite, write_ahead
from treadle.assistants.guidance.store.addresses import PostgresServer, SqliteFile
from treadle.assistants.guidance.store.errors import ItemNotFound, ProjectNotFound, StoreError
from treadle.errors import SettingsError

Given = ParamSpec("Given")
Back = TypeVar("Back")
AsyncMethod = Callable[Given, Coroutine[Any, Any, Back]]


class _UncancellableTask(asyncio.Task[Back]):
    """A task that goes on also when its event loop is closing, which cancels every task and then waits for them."""

    def cancel(self, msg: Any | None = None) -> bool:
        return False


def run_to_completion(method: AsyncMethod[Given, Back]) -> AsyncMethod[Given, Back]:
    """Run a method to completion, however often its caller is cancelled meanwhile; the caller then waits for it.

    A driver that is interrupted between request and response can leave a transaction open, which blocks everything else.
    """

    @wraps(method)
    async def run(*args: Given.args, **kwargs: Given.kwargs) -> Back:
        task = _UncancellableTask(method(*args, **kwargs))
        cancellation: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancellation = error
        if cancellation is not None:
            task.exception()  # retrieved, so that asyncio doesn't report it as lost
            raise cancellation
        return task.result()

    return run


BUSY_TIMEOUT = 60  # seconds to wait for another process that writes
_BEGIN_OPTION = "treadle_begin"  # how a transaction begins in SQLite
_TO_WRITE = ("BEGIN IMMEDIATE",)
_TO_REBUILD = ("PRAGMA foreign_keys=OFF", "BEGIN IMMEDIATE")


class ProjectDatabase:
    """One database, with as many connections as are needed at once."""

    def __init__(self, kept: SqliteFile | PostgresServer, patience: float = BUSY_TIMEOUT) -> None:
        self.name, self._engine = _create_engine(kept, patience)
        self._in_turn = asyncio.Lock() if isinstance(kept, SqliteFile) else None  # waiting here costs less than asking SQLite again
        self._connected = 0
        self._idle = asyncio.Condition()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncConnection]:
        """Open a connection, or take one from the pool; `close` waits for those who have one."""
        self._connected += 1
        try:
            connection = await self._engine.connect()
            try:
                yield connection
            finally:
                await connection.close()  # `async with` would close it in a task of its own, which can be cancelled
        finally:
            self._connected -= 1
            async with self._idle:
                self._idle.notify_all()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """Open a connection for reading, with a consistent snapshot."""
        with self._translate_errors():
            async with self._connect() as connection:
                if connection.dialect.name == "postgresql":
                    await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield connection

    @asynccontextmanager
    async def rebuilding(self) -> AsyncGenerator[AsyncConnection]:
        """Open a connection for changing tables. Recreating a table in SQLite must not delete what belongs to its rows."""
        async with self.writing(_TO_REBUILD) as connection:
            yield connection
            if connection.dialect.name == "sqlite":
                strays = (await connection.exec_driver_sql("PRAGMA foreign_key_check")).first()
                assert strays is None, strays  # a step that leaves any is wrong, and nothing of it is kept

    @asynccontextmanager
    async def writing(self, begin: tuple[str, ...] = _TO_WRITE) -> AsyncGenerator[AsyncConnection]:
        """Open a connection for writing. It is committed to disk at the end; after an error nothing is."""
        async with AsyncExitStack() as stack:
            stack.enter_context(self._translate_errors())
            if self._in_turn is not None:
                await stack.enter_async_context(self._in_turn)
            connection = await stack.enter_async_context(self._connect())
            await connection.execution_options(**{_BEGIN_OPTION: begin})
            async with connection.begin():
                yield connection
            if begin is _TO_REBUILD:
                await connection.invalidate()  # its foreign keys are still off

    async def purge(self) -> None:
        """Remove every byte of deleted data from the file and its log; a database server's are left to its operator."""
        if self._engine.dialect.name == "sqlite":
            await asyncio.to_thread(self._purge_file)

    def _purge_file(self) -> None:
        with (
            self._translate_errors(),
            closing(sqlite3.connect(self.name, isolation_level=None, timeout=BUSY_TIMEOUT)) as connection,
        ):
            purge_sqlite(connection.execute)

    @run_to_completion
    async def close(self) -> None:
        """Close all connections, when the operations that use them are complete: the pool forgets those that are in use."""
        async with self._idle:
            await self._idle.wait_for(lambda: not self._connected)
        await self._engine.dispose()

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Translate database errors to messages for people."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise StoreError(_error_message(self.name, error)) from error


def _error_message(name: str, error: Exception) -> str:
    said = str(getattr(error, "orig", None) or error)
    words = " ".join(said.split())
    if "locked" in words or "busy" in words:
        return f"{name} is being written by another process and was for too long; try again when it is done."
    if "not a database" in words or "malformed" in words:
        return f"{name} is damaged, or is no database ({words}). Put back a copy of it, or name another file."
    return f"{name} can't be used ({words}). Check that it is there, that there is room, and that you may use it."


def _create_engine(kept: SqliteFile | PostgresServer, patience: float) -> tuple[str, AsyncEngine]:
    match kept:
        case SqliteFile(path):
            return str(path), _sqlite_engine(path, patience)
        case PostgresServer(address):
            return _postgres_engine(address)
        case _:
            assert_never(kept)


def _postgres_engine(address: str) -> tuple[str, AsyncEngine]:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:
        raise SettingsError("That is no address of a database; write postgresql://USER@HOST/DATABASE.") from error
    engine = create_async_engine(url, pool_pre_ping=True, json_serializer=_to_json, json_deserializer=msgspec.json.decode)
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True), engine


def _sqlite_engine(path: Path, patience: float) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        connect_args={"timeout": patience},
        json_serializer=_to_json,
        json_deserializer=msgspec.json.decode,
    )
    event.listen(engine.sync_engine, "connect", _configure_connection)
    event.listen(engine.sync_engine, "begin", _begin_transaction)
    return engine


def create_database_file(path: Path) -> None:
    """Create the file if it doesn't exist, readable by its owner only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(_error_message(str(path), error)) from error


def _configure_connection(connection: Any, _: object) -> None:
    """Configure a new SQLite connection. Transactions begin only in `_begin_transaction`."""
    connection.isolation_level = None
    cursor = connection.cursor()
    write_ahead(cursor.execute)
    for pragma in ("foreign_keys=ON", "synchronous=FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_transaction(connection: Connection) -> None:
    for statement in connection.get_execution_options().get(_BEGIN_OPTION, ("BEGIN",)):
        connection.exec_driver_sql(statement)


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class StoreMixin:
    """Base class of the store's mixins.

    `shared` returns the stores in which other users share projects with this one, each with the name to use it by.
    """

    def __init__(self, database: ProjectDatabase, shared: "LoadShared | None" = None) -> None:
        self._database = database
        self._load_shared = shared

    async def shared_stores(self) -> "Sequence[tuple[StoreMixin, str]]":
        """Return the stores of other users who share projects with this one, as of now."""
        return () if self._load_shared is None else await self._load_shared()


LoadShared = Callable[[], Awaitable[Sequence[tuple[StoreMixin, str]]]]
Mixin = TypeVar("Mixin", bound=StoreMixin)
UserMethod = Callable[Concatenate[Mixin, str, Given], Coroutine[Any, Any, Back]]


def in_any_store(method: UserMethod[Mixin, Given, Back]) -> UserMethod[Mixin, Given, Back]:
    """Run a method to completion. What isn't among the user's own is looked for in what others share with them.

    A method that raises `ItemNotFound` has changed nothing.
    """
    complete = run_to_completion(method)

    @wraps(method)
    async def run(self: Mixin, user: str, /, *args: Given.args, **kwargs: Given.kwargs) -> Back:
        try:
            return await complete(self, user, *args, **kwargs)
        except ItemNotFound as error:
            missing = error
        for store, grantee in await self.shared_stores():
            try:
                return await complete(cast("Mixin", store), grantee, *args, **kwargs)
            except ItemNotFound as error:
                missing = missing if isinstance(error, ProjectNotFound) else error
        raise missing

    return run
