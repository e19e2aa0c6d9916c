"""Has a SQLite file written ahead: who reads it and who writes it don't wait for one another.

SQLite switches a new file only where nobody else has it open, and says "locked" at once to the second of two that try at the
same time, however patient it is set to be. So the second tries again.
"""

from collections.abc import Callable
from time import monotonic, sleep

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
