"""Has a SQLite file written ahead, so that who reads it and who writes it don't wait for one another; and purges it.

SQLite switches a new file only where nobody else has it open, and says "locked" at once to the second of two that try at the
same time, however patient it is set to be. So the second tries again.
"""

from collections.abc import Callable
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.stores.database import Cursor

PATIENCE = 30.0  # seconds
PAUSE = 0.01


def write_ahead(execute: Callable[[str], object], patience: float = PATIENCE) -> None:
    """Switch a file, given what carries out statements on a connection to it."""
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


def purge_sqlite(execute: Callable[[str], "Cursor"], patience: float = PATIENCE) -> bool:
    """Write a file anew, so that no byte of what was deleted is left in it, and empty its write-ahead log.

    SQLite's own `secure_delete` isn't enough: copies stay where rows were moved to another page. False where the log couldn't be
    emptied, since somebody was reading all the time.
    """
    execute("VACUUM")
    until = monotonic() + patience
    while execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if monotonic() > until:
            return False
        sleep(PAUSE)
    return True
