"""Users in a SQLite file of their own. Each look opens it anew, so that whatever another process changes counts at once."""

import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import TreadleError

if TYPE_CHECKING:
    from sqlite3 import Connection

PATIENCE = 10  # seconds to wait for another process that writes
VERSION = 1
SCHEMA = """
CREATE TABLE users (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, allowance BLOB NOT NULL, proof BLOB NOT NULL, added_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (
    proof BLOB PRIMARY KEY, name TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE, until REAL NOT NULL
) WITHOUT ROWID;
"""


class UsersError(TreadleError):
    """Users can't be read or written."""


class UsersFile:
    """One file. Looking makes none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def reading(self) -> "Generator[Connection | None]":
        """The file as it is now; None where there is none."""
        if not self.path.exists():
            yield None
            return
        with _opened(self.path) as connection:
            yield connection

    @contextmanager
    def writing(self) -> "Generator[Connection]":
        """The file, for a change that happens wholly or not at all."""
        with _opened(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")


@contextmanager
def _opened(path: Path) -> "Generator[Connection]":
    """The file, made with its tables if it isn't there, readable by its owner only. What wasn't committed is undone."""
    import sqlite3

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as connection:
            connection.execute("PRAGMA foreign_keys=ON")
            _prepare(connection, path)
            yield connection
    except (OSError, sqlite3.Error) as error:
        raise UsersError(
            f"The users in {path} can't be read or changed ({error}). Mend that, or restore a backup of it."
        ) from error


def _prepare(connection: "Connection", path: Path) -> None:
    found = _version(connection)
    if found > VERSION:
        raise UsersError(f"{path} was made by a newer Treadle; update Treadle to use it.")
    if found < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        statements = SCHEMA.split(";") if _version(connection) == 0 else ()  # another process may have been quicker
        for statement in (*statements, f"PRAGMA user_version={VERSION}"):
            connection.execute(statement)
        connection.execute("COMMIT")


def _version(connection: "Connection") -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]
