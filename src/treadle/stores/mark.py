"""A mark beside a SQLite file: how often it was written. A file that has had fewer writes than its mark says has lost some.

SQLite can't tell by itself: of a write-ahead log that was cut short or removed it takes what is whole, in silence, and what a run
did last would be done again. The mark is written after each commit and isn't waited for: it may be behind, and is never ahead.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.core.errors import JournalDamaged

if TYPE_CHECKING:
    import sqlite3

ENDING = "-mark"
_DIGITS = 20


class Mark:
    """The mark of one file, for its writer."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ENDING)
        self._file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)

    def check(self, connection: "sqlite3.Connection") -> None:
        """Refuse a file that has lost writes; give one whose mark was removed a new one."""
        noted = os.pread(self._file, _DIGITS, 0)  # before the other number: somebody else may be writing
        (written,) = connection.execute("SELECT number FROM written").fetchone()
        if not noted.isdigit():
            self.note(written)
            return
        lost = int(noted) - written
        if lost > 0:
            name = self.path.name.removesuffix(ENDING)
            raise JournalDamaged(
                f"{self.path.with_name(name)} has lost its last {lost} {'write' if lost == 1 else 'writes'}: {name} or {name}-wal"
                " was cut short, removed or replaced. Put both back as they were. If that can't be, find out what the runs that"
                f" were open did last, since it would be done again; then remove {self.path.name}."
            )

    def note(self, written: int) -> None:
        """So many writes are on the disk, whether that can be noted or not."""
        with suppress(OSError):
            os.pwrite(self._file, b"%0*d" % (_DIGITS, written), 0)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)


def count(connection: "sqlite3.Connection") -> int:
    """One more write, in its own transaction; says how many there are with it."""
    return connection.execute("UPDATE written SET number = number + 1 RETURNING number").fetchone()[0]
