"""Connections to the passages file: many concurrent readers, one writer at a time, all in threads. Opened at the first use.

Includes the tables of the file and their migrations.

Write-ahead log: a reader is never blocked, and sees what was committed when it began. The unfinished transaction of a killed
process has no effect.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar, cast

from treadle.core.errors import TreadleError
from treadle.retrieval.values import PassagesError
from treadle.stores.migration import execute_script, format_of, set_format
from treadle.stores.write_ahead import purge_sqlite, write_ahead

if TYPE_CHECKING:
    from sqlite3 import Connection


@cache
def load_sqlite() -> ModuleType:
    """Return the module to use, with the names of Python's own."""
    return import_module("pysqlite3" if find_spec("pysqlite3") else "sqlite3")


Value = TypeVar("Value")

_STAMP = "CREATE TEMP TABLE stamp (mark TEXT); INSERT INTO temp.stamp VALUES (hex(randomblob(16)));"
_STAMP_ANEW = "UPDATE temp.stamp SET mark = hex(randomblob(16))"

MAX_IDLE = 4  # idle connections
PATIENCE = 60  # seconds to wait for another process that writes


class PassageConnections:
    """The connections of one store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: list[Connection] = []
        self._keeping = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False

    async def read(self, job: "Callable[[Connection], Value]") -> Value:
        """Run a job that reads one state of the file."""
        return await asyncio.to_thread(self._run, job, "BEGIN")

    async def write(self, job: "Callable[[Connection], Value]") -> Value:
        """Run a job atomically. It is committed when this returns."""
        return await asyncio.to_thread(self._write, job)

    async def rewrite(self) -> None:
        """Rewrite the file, so that no deleted data is left in it or in its write-ahead log."""
        await asyncio.to_thread(self._rewrite)

    def _rewrite(self) -> None:
        with self._writing, self._acquire() as connection:
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            purge_sqlite(connection.execute, PATIENCE)

    def close(self) -> None:
        """Close the file. Jobs in progress finish first, and close their own connections."""
        with self._keeping:
            self._closed = True
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()

    def _write(self, job: "Callable[[Connection], Value]") -> Value:
        with self._writing:
            return self._run(lambda connection: _run_and_stamp(connection, job), "BEGIN IMMEDIATE")

    def _run(self, job: "Callable[[Connection], Value]", begin: str) -> Value:
        with self._acquire() as connection:
            connection.execute(begin)
            value = job(connection)
            connection.execute("COMMIT")
            return value

    @contextmanager
    def _acquire(self) -> "Generator[Connection]":
        """Acquire a connection. One on which an error occurred isn't reused."""
        connection: Connection | None = None
        fine = False
        try:
            connection = self._take_idle() or open_passages(self.path)
            yield connection
            fine = True
        except (load_sqlite().Error, OSError) as error:
            raise translate_passages_error(error, self.path) from error
        finally:
            if connection is not None:
                self._release(connection, fine=fine)

    def _take_idle(self) -> "Connection | None":
        with self._keeping:
            if self._closed:
                raise PassagesError(f"{self.path} was closed; open it again to use it.")
            return self._kept.pop() if self._kept else None

    def _release(self, connection: "Connection", *, fine: bool) -> None:
        with self._keeping:
            keep = fine and not self._closed and len(self._kept) < MAX_IDLE
            if keep:
                self._kept.append(connection)
        if not keep:
            connection.close()


def open_passages(path: Path) -> "Connection":
    """Open the file, creating it with its tables if needed, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = cast("Connection", load_sqlite().connect(path, isolation_level=None, timeout=PATIENCE, check_same_thread=False))
    try:
        write_ahead(connection.execute, PATIENCE)
        connection.execute("PRAGMA synchronous=NORMAL")  # whatever a power cut takes can be indexed again; nothing is damaged
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA journal_size_limit=67108864")
        connection.execute("PRAGMA mmap_size=268435456")  # a search reads far more than fits into a connection's own cache
        migrate_passages(connection, path)
        connection.executescript(CONNECTION_TABLES + _STAMP)
    except BaseException:
        connection.close()
        raise
    return connection


def read_stamp(connection: "Connection") -> tuple[str, int]:
    """Return an identifier of the state of the file that a connection sees: while it is the same, so is the file.

    SQLite counts for a connection what others have written, also in other processes. Its own writes give it a new mark.
    """
    return connection.execute("SELECT mark, data_version FROM temp.stamp, pragma_data_version").fetchone()


def _run_and_stamp(connection: "Connection", job: "Callable[[Connection], Value]") -> Value:
    value = job(connection)
    connection.execute(_STAMP_ANEW)
    return value


def translate_passages_error(error: Exception, path: Path) -> TreadleError:
    """Return the error with a message for the user."""
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


# Each brings a file from the version of its place to the next one. What is written here is never changed, only added to.
MIGRATIONS = (
    """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, title TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, number INTEGER NOT NULL,
    heading TEXT NOT NULL, text TEXT NOT NULL, rest BLOB NOT NULL
);
CREATE UNIQUE INDEX passages_by_document ON passages (document, number);
CREATE TABLE tags (
    key TEXT NOT NULL, value TEXT NOT NULL, passage INTEGER NOT NULL, PRIMARY KEY (key, value, passage)
) WITHOUT ROWID;
CREATE INDEX tags_by_passage ON tags (passage);
CREATE TABLE vectors (passage INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE signs (passage INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(heading, text, content='passages', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
    INSERT INTO words (rowid, heading, text) VALUES (new.id, new.heading, new.text);
END;
CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
    INSERT INTO words (words, rowid, heading, text) VALUES ('delete', old.id, old.heading, old.text);
    DELETE FROM tags WHERE passage = old.id;
    DELETE FROM vectors WHERE passage = old.id;
    DELETE FROM signs WHERE passage = old.id;
END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    DELETE FROM passages WHERE document = old.id;
END;
""",
    """
ALTER TABLE documents ADD COLUMN about TEXT NOT NULL DEFAULT '{}';
""",
    """
ALTER TABLE documents ADD COLUMN seen TEXT NOT NULL DEFAULT '';
""",
)

# Each connection's own: what is asked is cut into words by the very tokenizer that cut the passages.
CONNECTION_TABLES = """
CREATE VIRTUAL TABLE temp.heard USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE temp.heard_words USING fts5vocab(temp, heard, instance);
"""


def migrate_passages(connection: "Connection", path: object) -> None:
    """Migrate a file to the current version in one transaction; concurrent openers wait."""
    version = format_of(connection)
    if version > len(MIGRATIONS):
        raise PassagesError(f"{path} was made by a newer Treadle; update Treadle to use it.")
    if version < len(MIGRATIONS):
        connection.execute("BEGIN IMMEDIATE")
        version = format_of(connection)  # another process may have been first
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            connection.execute("ROLLBACK")
            raise PassagesError(f"{path} holds something else; name another file for the passages.")
        for step in MIGRATIONS[version:]:
            execute_script(connection, step)
        if version < len(MIGRATIONS):
            set_format(connection, len(MIGRATIONS))
        connection.execute("COMMIT")
