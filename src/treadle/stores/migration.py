"""The format of a SQLite file (`user_version`), and the migrations that a database records about itself."""

from collections.abc import Iterator
from time import time
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from treadle.stores.database import Connection

TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations (at DOUBLE PRECISION NOT NULL, from_format INTEGER NOT NULL, to_format INTEGER NOT NULL)"
)
HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"


class Migration(Struct, frozen=True):
    """A migration of a database, at a time in seconds since 1970."""

    at: float
    from_format: int
    to_format: int


def format_of(connection: "Connection") -> int:
    """Return the number of a file's format; 0 where nothing was written yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def set_format(connection: "Connection", number: int) -> None:
    """Set the number inside of a transaction, and record the migration where the file had an older format."""
    before = format_of(connection)
    if before:
        connection.execute(TABLE)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (time(), before, number))
    connection.execute(f"PRAGMA user_version={number}")


def migrations_of(connection: "Connection", has_table: str = HAS_TABLE) -> list[Migration]:
    """Return the migrations of a database, oldest first."""
    if connection.execute(has_table, ("migrations",)).fetchone() is None:
        return []
    return [Migration(*row) for row in connection.execute("SELECT at, from_format, to_format FROM migrations ORDER BY to_format")]


def execute_script(connection: "Connection", script: str) -> None:
    """Execute each statement of a script inside of the transaction that is open, which `executescript` would commit."""
    for statement in _statements(script):
        connection.execute(statement)


def _statements(script: str) -> Iterator[str]:
    from sqlite3 import complete_statement

    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
