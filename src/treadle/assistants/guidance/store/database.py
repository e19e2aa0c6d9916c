"""A database, in transactions: what is read is of one moment, what is written is written wholly or not at all.

SQLite has one writer at a time; it begins at once as such, so that two can't both read and then stand in each other's way.
What goes wrong in the database comes out as a `StoreError`.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, assert_never

import msgspec
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from treadle import SettingsError, purge_sqlite, write_ahead
from treadle.assistants.guidance.store.addresses import File, Server
from treadle.assistants.guidance.store.errors import StoreError

PATIENCE = 60  # seconds to wait for another process that writes
_BEGIN = "treadle_begin"  # how a transaction begins in SQLite
_TO_WRITE = ("BEGIN IMMEDIATE",)
_TO_REBUILD = ("PRAGMA foreign_keys=OFF", "BEGIN IMMEDIATE")


class Database:
    """One database, with as many connections as are needed at once."""

    def __init__(self, kept: File | Server, patience: float = PATIENCE) -> None:
        self.name, self._engine = _opened(kept, patience)
        self._in_turn = asyncio.Lock() if isinstance(kept, File) else None  # waiting here costs less than asking SQLite again

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """A connection to read with: all of it of one moment."""
        with self._translated():
            async with self._engine.connect() as connection:
                if connection.dialect.name == "postgresql":
                    await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield connection

    @asynccontextmanager
    async def rebuilding(self) -> AsyncGenerator[AsyncConnection]:
        """A connection to change tables with. A table that SQLite makes anew doesn't take along what belongs to its rows."""
        async with self.writing(_TO_REBUILD) as connection:
            yield connection
            if connection.dialect.name == "sqlite":
                strays = (await connection.exec_driver_sql("PRAGMA foreign_key_check")).first()
                assert strays is None, strays  # a step that leaves any is wrong, and nothing of it is kept

    @asynccontextmanager
    async def writing(self, begin: tuple[str, ...] = _TO_WRITE) -> AsyncGenerator[AsyncConnection]:
        """A connection to write with. At the end it is on disk; after an error nothing is."""
        async with AsyncExitStack() as stack:
            stack.enter_context(self._translated())
            if self._in_turn is not None:
                await stack.enter_async_context(self._in_turn)
            connection = await stack.enter_async_context(self._engine.connect())
            await connection.execution_options(**{_BEGIN: begin})
            async with connection.begin():
                yield connection
            if begin is _TO_REBUILD:
                await connection.invalidate()  # its foreign keys are still off

    async def purge(self) -> None:
        """Have no byte of what was deleted left in the file and its log; those of a database server are its operator's."""
        if self._engine.dialect.name == "sqlite":
            await asyncio.to_thread(self._purge)

    def _purge(self) -> None:
        with self._translated(), closing(sqlite3.connect(self.name, isolation_level=None, timeout=PATIENCE)) as connection:
            purge_sqlite(connection.execute)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._engine.dispose()

    @contextmanager
    def _translated(self) -> Generator[None]:
        """Errors of the database as a person should read them."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise StoreError(_sentence(self.name, error)) from error


def _sentence(name: str, error: Exception) -> str:
    said = str(getattr(error, "orig", None) or error)
    words = " ".join(said.split())
    if "locked" in words or "busy" in words:
        return f"{name} is being written by another process and was for too long; try again when it is done."
    if "not a database" in words or "malformed" in words:
        return f"{name} is damaged, or is no database ({words}). Put back a copy of it, or name another file."
    return f"{name} can't be used ({words}). Check that it is there, that there is room, and that you may use it."


def _opened(kept: File | Server, patience: float) -> tuple[str, AsyncEngine]:
    match kept:
        case File(path):
            return str(path), _sqlite(path, patience)
        case Server(address):
            return _postgres(address)
        case _:
            assert_never(kept)


def _postgres(address: str) -> tuple[str, AsyncEngine]:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:
        raise SettingsError("That is no address of a database; write postgresql://USER@HOST/DATABASE.") from error
    engine = create_async_engine(url, pool_pre_ping=True, json_serializer=_written, json_deserializer=msgspec.json.decode)
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True), engine


def _sqlite(path: Path, patience: float) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        connect_args={"timeout": patience},
        json_serializer=_written,
        json_deserializer=msgspec.json.decode,
    )
    event.listen(engine.sync_engine, "connect", _prepare)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def make_file(path: Path) -> None:
    """The file, if it isn't there, readable by its owner only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(_sentence(str(path), error)) from error


def _prepare(connection: Any, _: object) -> None:
    """A new connection to a file. Transactions begin where `_begin` says, and nowhere else."""
    connection.isolation_level = None
    cursor = connection.cursor()
    write_ahead(cursor.execute)
    for pragma in ("foreign_keys=ON", "synchronous=FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    for statement in connection.get_execution_options().get(_BEGIN, ("BEGIN",)):
        connection.exec_driver_sql(statement)


def _written(value: Any) -> str:
    return msgspec.json.encode(value).decode()
