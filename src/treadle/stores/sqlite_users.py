"""Users in a SQLite file of their own. It is opened for each access, so that changes by another process take effect at once."""

import os
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import TreadleError
from treadle.stores.disk_errors import ADVICE, classify_disk_error, is_unwritable, open_read_only

if TYPE_CHECKING:
    from sqlite3 import Connection

PATIENCE = 10  # seconds to wait for another process that writes
VERSION = 3
SCHEMA = """
CREATE TABLE users (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, allowance BLOB NOT NULL, proof BLOB NOT NULL, added_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (
    proof BLOB PRIMARY KEY, name TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE, until REAL NOT NULL
) WITHOUT ROWID;
"""
IDENTITY = """
ALTER TABLE users ADD COLUMN groups BLOB NOT NULL DEFAULT x'5b5d';
ALTER TABLE users ADD COLUMN service INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN expires REAL;
CREATE TABLE identities (
    issuer TEXT NOT NULL, subject TEXT NOT NULL, name TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
) WITHOUT ROWID;
CREATE TABLE server_keys (name TEXT PRIMARY KEY, secret BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE shares (
    owner TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE, run_id TEXT NOT NULL, is_group INTEGER NOT NULL,
    grantee TEXT NOT NULL, PRIMARY KEY (owner, run_id, is_group, grantee)
) WITHOUT ROWID;
CREATE INDEX shares_by_grantee ON shares (is_group, grantee);
"""
ITEMS = """
CREATE TABLE item_shares (
    owner TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE, assistant TEXT NOT NULL, item TEXT NOT NULL,
    is_group INTEGER NOT NULL, grantee TEXT NOT NULL, can_edit INTEGER NOT NULL,
    PRIMARY KEY (owner, assistant, item, is_group, grantee)
) WITHOUT ROWID;
CREATE INDEX item_shares_by_grantee ON item_shares (assistant, is_group, grantee);
"""
MIGRATIONS = (SCHEMA, IDENTITY, ITEMS)  # each is a step from the number before it; one that was released never changes


class UsersError(TreadleError):
    """Users can't be read or written."""


class SqliteUserStore:
    """The users in one SQLite file. Reading doesn't create it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def reading(self) -> "Generator[Connection | None]":
        """Open the file as it is now; None where there is none."""
        if not self.path.exists():
            yield None
            return
        with _open_connection(self.path, _connect_to_read) as connection:
            yield connection

    @contextmanager
    def writing(self) -> "Generator[Connection]":
        """Open the file for one atomic change."""
        with _open_connection(self.path, _connect) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")


@contextmanager
def _open_connection(path: Path, connect: "Callable[[Path], Connection]") -> "Generator[Connection]":
    """Connect for one access, and translate errors. Uncommitted changes are rolled back."""
    import sqlite3

    try:
        with closing(connect(path)) as connection:
            yield connection
    except (OSError, sqlite3.Error) as error:
        fault = classify_disk_error(error, path)
        advice = "It is damaged: restore a backup of it." if fault == "damaged" else ADVICE.get(fault, "Check its disk.")
        raise UsersError(f"The users in {path} can't be read or changed ({error}). {advice}") from error


def _connect(path: Path) -> "Connection":
    """Open the file, creating it with its tables if needed, readable by its owner only."""
    import sqlite3

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)
    try:
        connection.execute("PRAGMA foreign_keys=ON")
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_to_read(path: Path) -> "Connection":
    """Open the file; read-only where its disk can't be written."""
    import sqlite3

    try:
        return _connect(path)
    except (OSError, sqlite3.Error) as error:
        if not is_unwritable(error, path):
            raise
    return open_read_only(path, PATIENCE)


def _prepare(connection: "Connection", path: Path) -> None:
    found = _read_version(connection)
    if found > VERSION:
        raise UsersError(f"{path} was made by a newer Treadle; update Treadle to use it.")
    if found < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        for step in MIGRATIONS[_read_version(connection) :]:  # another process may have been quicker
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")


def _read_version(connection: "Connection") -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]
