"""Switches a SQLite file to write-ahead logging, so that readers and writers don't block one another, and purges it.

SQLite switches a new file only where no other connection is open, and reports "locked" at once to the second of two processes
that try at the same time, whatever its busy timeout is. So the second retries.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite3 import Connection

    from treadle.stores.database import Cursor

PATIENCE = 30.0  # seconds
PAUSE = 0.01


def write_ahead(execute: Callable[[str], object], patience: float = PATIENCE) -> None:
    """Switch a file to write-ahead logging, given the `execute` of a connection to it."""
    until = monotonic() + patience
    while True:
        try:
            execute("PRAGMA journal_mode=WAL")
        except Exception as error:
            if "locked" not in str(error) or monotonic() > until:
                raise
            sleep(PAUSE)
        else:
            return


@contextmanager
def open_private_sqlite(path: Path, timeout: float = PATIENCE) -> "Generator[Connection]":
    """Open a SQLite file that only its owner may read, create it if necessary, and close it at the end. Transactions are explicit.

    Another process's lock is waited for as many seconds. Raises SQLite's errors and `OSError`.
    """
    import sqlite3

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    try:
        write_ahead(connection.execute, timeout)
        yield connection
    finally:
        connection.close()


def purge_sqlite(execute: Callable[[str], "Cursor"], patience: float = PATIENCE) -> bool:
    """Rewrite a file, so that no byte of deleted data is left in it, and empty its write-ahead log.

    SQLite's own `secure_delete` isn't enough: copies stay where rows were moved to another page. Returns False where the log
    couldn't be emptied, because there were readers all the time.
    """
    execute("VACUUM")
    until = monotonic() + patience
    while execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if monotonic() > until:
            return False
        sleep(PAUSE)
    return True
