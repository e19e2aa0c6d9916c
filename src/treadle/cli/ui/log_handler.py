"""Log output of long-running commands: one line for each error on the screen, or JSON for programs that collect logs."""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any

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


def attach_json_log(*names: str, access: str = "") -> None:
    """Print each record from warnings up as a line of JSON on stderr; of the logger `access`, each request."""
    handler = _JsonHandler()
    for name in names:
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO if os.environ.get("TREADLE_DEBUG") else logging.WARNING)
    if access:
        logging.getLogger(access).setLevel(logging.INFO)


class _JsonHandler(logging.Handler):
    """Logging handler that prints a record as a line of JSON, with secrets masked."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record: when, how bad, from which logger, its message, its error and its fields."""
        redactor = Redactor()
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redactor.text(record.getMessage()),
        }
        if record.exc_info and record.exc_info[1] is not None:
            said["error"] = type(record.exc_info[1]).__name__
            said["traceback"] = redactor.text(logging.Formatter().formatException(record.exc_info))
        said |= getattr(record, "fields", {})
        print(json.dumps(said), file=sys.stderr, flush=True)


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
