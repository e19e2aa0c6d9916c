"""`treadle serve`: the assistants and their pages, for a browser on this machine. The address goes to stdout once it listens."""

import argparse
import logging
import os

from treadle.app.assistants import find
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from importlib.util import find_spec

    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise SettingsError("The server needs starlette and uvicorn, which aren't installed: pip install 'treadle[server]'")
    return carry_out(_serve(args, Screen()))


async def _serve(args: argparse.Namespace, screen: Screen) -> int:
    from treadle.server.hosting import make_host
    from treadle.server.serving import serve

    def tell(url: str) -> None:
        screen.line(url)
        screen.note("Ctrl-C stops it.")

    found, broken = find()
    for each in broken:
        screen.tell(str(each), "red")
    _show_log(screen)
    host = make_host(args.model or "", args.base_url or "")
    await serve([each.assistant for each in found], host, address=args.host, port=args.port, on_listening=tell)
    return FINE


def _show_log(screen: Screen) -> None:
    """What goes wrong inside, a line each; the whole log with its tracebacks for those who ask for it."""
    debugging = bool(os.environ.get("TREADLE_DEBUG"))
    handler = logging.StreamHandler() if debugging else _Lines(screen, logging.ERROR)
    for name in ("treadle", "uvicorn"):
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO if debugging else logging.ERROR)


class _Lines(logging.Handler):
    """Shows a record as one line."""

    def __init__(self, screen: Screen, level: int) -> None:
        super().__init__(level)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Say it. Where it happened is left out."""
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error else ""
        self._screen.tell(" ".join(f"{record.getMessage()}{why}".split()), "red")
