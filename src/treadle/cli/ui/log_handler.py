"""Log output of long-running commands on the screen: one line for each error."""

import logging
import os

from treadle.cli.ui.screen import Screen
from treadle.guard.redaction import Redactor


def attach_log(screen: Screen, *names: str) -> None:
    """Print one line per error; with TREADLE_DEBUG, the whole log with its tracebacks."""
    debugging = bool(os.environ.get("TREADLE_DEBUG"))
    handler = logging.StreamHandler() if debugging else _ScreenHandler(screen, logging.ERROR)
    for name in names:
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO if debugging else logging.ERROR)


def attach_access_log(screen: Screen, name: str) -> None:
    """Print one line per request."""
    if not os.environ.get("TREADLE_DEBUG"):  # where the whole log is shown, they are in it
        logging.getLogger(name).addHandler(_ScreenHandler(screen, logging.INFO, "dim"))
        logging.getLogger(name).setLevel(logging.INFO)


class _ScreenHandler(logging.Handler):
    """Logging handler that prints a record as one line."""

    def __init__(self, screen: Screen, level: int, style: str = "red") -> None:
        super().__init__(level)
        self._screen = screen
        self._style = style

    def emit(self, record: logging.LogRecord) -> None:
        """Print the first line of the record, without its location; further lines are a traceback."""
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error else ""
        line = record.getMessage().partition("\n")[0]
        self._screen.tell(" ".join(Redactor().text(f"{line}{why}").split()), self._style)
