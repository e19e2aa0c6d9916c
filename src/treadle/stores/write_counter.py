"""A write counter beside a SQLite file. A file that has had fewer writes than its counter says has lost some.

SQLite can't tell by itself: of a write-ahead log that was truncated or removed it silently takes what is complete, and the
last steps of a run would be executed again. The counter is written after each commit and not awaited: it may lag, and is
never ahead.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import JournalDamaged

if TYPE_CHECKING:
    import sqlite3

SUFFIX = "-mark"
_DIGITS = 20


class WriteCounter:
    """The write counter of one file, for its writer."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + SUFFIX)
        self._file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)

    def check(self, connection: "sqlite3.Connection") -> None:
        """Raise for a file that has lost writes; recreate a counter that was removed."""
        noted = os.pread(self._file, _DIGITS, 0)  # before the other number: another process may be writing
        written = _read_written(connection)
        if not noted.isdigit():
            self.note(written)
            return
        _check_lost(int(noted) - written, self.path)

    def note(self, written: int) -> None:
        """Store the number of writes on disk; errors are ignored."""
        with suppress(OSError):
            os.pwrite(self._file, b"%0*d" % (_DIGITS, written), 0)

    def close(self) -> None:
        """Close the counter's file."""
        os.close(self._file)


def check_writes(path: Path, connection: "sqlite3.Connection") -> None:
    """Raise for a file that has lost writes, without writing anything."""
    counter = path.with_name(path.name + SUFFIX)
    noted = counter.read_bytes()[:_DIGITS] if counter.exists() else b""
    if noted.isdigit():
        _check_lost(int(noted) - _read_written(connection), counter)


def _read_written(connection: "sqlite3.Connection") -> int:
    return connection.execute("SELECT number FROM written").fetchone()[0]


def _check_lost(lost: int, counter: Path) -> None:
    if lost > 0:
        name = counter.name.removesuffix(SUFFIX)
        raise JournalDamaged(
            f"{counter.with_name(name)} has lost its last {lost} {'write' if lost == 1 else 'writes'}: {name} or {name}-wal"
            " was cut short, removed or replaced. Put both back as they were. If that can't be, find out what the runs that"
            f" were open did last, since it would be done again; then remove {counter.name}."
        )


def count_write(connection: "sqlite3.Connection") -> int:
    """Count one more write, in its own transaction; return the new number."""
    return connection.execute("UPDATE written SET number = number + 1 RETURNING number").fetchone()[0]
