"""Connections to the file: as many readers as ask at once, one writer at a time, all in threads. Opened at the first use.

Write-ahead log: who reads is never kept waiting, and sees what was committed when it began. What a killed process had begun
is as if it never was.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from treadle.core.errors import TreadleError
from treadle.stores.passages.schema import OWN, prepare
from treadle.stores.passages.sqlite import library
from treadle.stores.passages.values import PassagesError
from treadle.stores.write_ahead import purge_sqlite, write_ahead

if TYPE_CHECKING:
    from sqlite3 import Connection

Value = TypeVar("Value")

_STAMP = "CREATE TEMP TABLE stamp (mark TEXT); INSERT INTO temp.stamp VALUES (hex(randomblob(16)));"
_STAMP_ANEW = "UPDATE temp.stamp SET mark = hex(randomblob(16))"

MOST_KEPT = 4  # connections that nobody uses just now
PATIENCE = 60  # seconds to wait for another process that writes


class Connections:
    """The connections of one store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: list[Connection] = []
        self._keeping = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False

    async def read(self, job: "Callable[[Connection], Value]") -> Value:
        """What a job finds in one state of the file."""
        return await asyncio.to_thread(self._carry_out, job, "BEGIN")

    async def write(self, job: "Callable[[Connection], Value]") -> Value:
        """Carry a job out wholly or not at all. When this returns, it is in the file."""
        return await asyncio.to_thread(self._write, job)

    async def rewrite(self) -> None:
        """Write the file anew, so that nothing of what was deleted is left in it or in its write-ahead log."""
        await asyncio.to_thread(self._rewrite)

    def _rewrite(self) -> None:
        with self._writing, self._one() as connection:
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            purge_sqlite(connection.execute, PATIENCE)

    def close(self) -> None:
        """Let go of the file. What is under way ends first, and lets go by itself."""
        with self._keeping:
            self._closed = True
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()

    def _write(self, job: "Callable[[Connection], Value]") -> Value:
        with self._writing:
            return self._carry_out(lambda connection: _and_told(connection, job), "BEGIN IMMEDIATE")

    def _carry_out(self, job: "Callable[[Connection], Value]", begin: str) -> Value:
        with self._one() as connection:
            connection.execute(begin)
            value = job(connection)
            connection.execute("COMMIT")
            return value

    @contextmanager
    def _one(self) -> "Generator[Connection]":
        """A connection for a while. One that something went wrong on isn't used again."""
        connection: Connection | None = None
        fine = False
        try:
            connection = self._taken() or open_passages(self.path)
            yield connection
            fine = True
        except (library().Error, OSError) as error:
            raise translated(error, self.path) from error
        finally:
            if connection is not None:
                self._give_back(connection, fine=fine)

    def _taken(self) -> "Connection | None":
        with self._keeping:
            if self._closed:
                raise PassagesError(f"{self.path} was closed; open it again to use it.")
            return self._kept.pop() if self._kept else None

    def _give_back(self, connection: "Connection", *, fine: bool) -> None:
        with self._keeping:
            keep = fine and not self._closed and len(self._kept) < MOST_KEPT
            if keep:
                self._kept.append(connection)
        if not keep:
            connection.close()


def open_passages(path: Path) -> "Connection":
    """The file, made with its tables if it isn't there, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = cast("Connection", library().connect(path, isolation_level=None, timeout=PATIENCE, check_same_thread=False))
    try:
        write_ahead(connection.execute, PATIENCE)
        connection.execute("PRAGMA synchronous=NORMAL")  # whatever a power cut takes can be indexed again; nothing is damaged
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA journal_size_limit=67108864")
        connection.execute("PRAGMA mmap_size=268435456")  # a search reads far more than fits into a connection's own cache
        prepare(connection, path)
        connection.executescript(OWN + _STAMP)
    except BaseException:
        connection.close()
        raise
    return connection


def stamp(connection: "Connection") -> tuple[str, int]:
    """What stands for the state of the file that a connection sees: for as long as it is the same, so is the file.

    SQLite counts for a connection what others have written, be it in other processes. What it writes itself gives it a new mark.
    """
    return connection.execute("SELECT mark, data_version FROM temp.stamp, pragma_data_version").fetchone()


def _and_told(connection: "Connection", job: "Callable[[Connection], Value]") -> Value:
    value = job(connection)
    connection.execute(_STAMP_ANEW)
    return value


def translated(error: Exception, path: Path) -> TreadleError:
    """The error as a person should read it."""
    words = str(error)
    if "fts5" in words and "no such module" in words:
        return PassagesError("This Python's SQLite has no full text (FTS5): pip install 'treadle[retrieval]' brings one that has.")
    if any(mark in words for mark in ("not a database", "malformed", "disk image", "corrupt")):
        return PassagesError(f"{path} is damaged ({words}). Remove it and index again: everything in it can be made anew.")
    if "locked" in words or "busy" in words:
        return PassagesError(
            f"{path} is being written by another process and was for {PATIENCE} seconds; try again when it is done."
        )
    return PassagesError(
        f"{path} can't be used ({words}). Check that there is room and that it may be written, or name another file."
    )
