"""The log of a command that goes on for long, on its screen: a line for each thing that went wrong inside."""

import logging
import os

from treadle.cli.screen import Screen
from treadle.guard.redaction import Redactor


def show_log(screen: Screen, *names: str) -> None:
    """What goes wrong inside, a line each; the whole log with its tracebacks for those who ask for it."""
    debugging = bool(os.environ.get("TREADLE_DEBUG"))
    handler = logging.StreamHandler() if debugging else _Lines(screen, logging.ERROR)
    for name in names:
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO if debugging else logging.ERROR)


def show_access(screen: Screen, name: str) -> None:
    """A line for each request."""
    if not os.environ.get("TREADLE_DEBUG"):  # where the whole log is shown, they are in it
        logging.getLogger(name).addHandler(_Lines(screen, logging.INFO, "dim"))
        logging.getLogger(name).setLevel(logging.INFO)


class _Lines(logging.Handler):
    """Shows a record as one line."""

    def __init__(self, screen: Screen, level: int, style: str = "red") -> None:
        super().__init__(level)
        self._screen = screen
        self._style = style

    def emit(self, record: logging.LogRecord) -> None:
        """Say it. Where it happened is left out."""
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error else ""
        self._screen.tell(" ".join(Redactor().text(f"{record.getMessage()}{why}").split()), self._style)
