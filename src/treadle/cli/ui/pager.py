"""Pager for output that is longer than the terminal: $PAGER, else `less -FRX`. Without a terminal nothing is paged.

Lines on stdout are collected until the command is done, and so is everything that stderr gets after the first of them: it
appears below them, as it would without a pager.
"""

import io
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from treadle.cli.ui.render import clean_for_terminal
from treadle.cli.ui.screen import Screen, terminal_columns
from treadle.core.wrapping import display_width
from treadle.plugins.assistant import Terminal

DEFAULT_PAGER = ("less", "-FRX")
ROWS = 24  # of a terminal that doesn't say
LESS = "FRX"  # its options where neither $PAGER nor $LESS says otherwise


@contextmanager
def open_pager(screen: Terminal | None, *, wanted: bool = True) -> Generator[None]:
    """Send what is written to the screen in this context through the pager, if it is longer than the terminal."""
    command = find_pager() if wanted and isinstance(screen, Screen) and screen.is_shared else ()
    if not command or not isinstance(screen, Screen):
        yield
        return
    with screen.redirect(Collected) as (out, err):
        err.waits_for = out
        try:
            yield
        except BaseException:
            command = ()  # what there is of the output is shown, and then what went wrong
            raise
        finally:
            text = out.getvalue()
            if not (command and is_long(text, out) and page_text(text, command)):
                out.file.write(text)
            out.file.flush()
            err.file.write(err.getvalue())
            err.file.flush()


class Collected(io.StringIO):
    """Collects what is written to a stream. Until there is something in the stream that it waits for, it lets all pass."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self.file = file
        self.waits_for: io.StringIO | None = None

    def write(self, text: str, /) -> int:
        """Collect text, or let it pass."""
        if self.waits_for is not None and not self.waits_for.tell():
            return self.file.write(text)
        return super().write(text)

    def flush(self) -> None:
        """Flush the stream itself."""
        self.file.flush()

    def fileno(self) -> int:
        """Return the stream's descriptor, for its width."""
        return self.file.fileno()


def is_long(text: str, terminal: TextIO) -> bool:
    """Return whether text takes more lines than the terminal has."""
    rows, columns = os.get_terminal_size(terminal.fileno()).lines or ROWS, terminal_columns(terminal)
    return sum([max(1, -(-display_width(clean_for_terminal(line)) // columns)) for line in text.splitlines()]) >= rows


def find_pager() -> tuple[str, ...]:
    """Return the command line of the pager; nothing where there is none, or where it would only copy."""
    chosen = os.environ.get("PAGER")
    try:
        words = DEFAULT_PAGER if chosen is None else tuple(shlex.split(chosen))
    except ValueError:  # quotes without an end
        return ()
    return words if os.environ.get("TERM") != "dumb" and words and words[0] != "cat" and shutil.which(words[0]) else ()


def _ignore(number: int, frame: FrameType | None) -> None:
    """Ignore a signal in this process only."""


def page_text(text: str, command: tuple[str, ...]) -> bool:
    """Show text in the pager until the person leaves it. Return False where it can't be started."""
    before = signal.signal(signal.SIGINT, _ignore)  # Ctrl-C is the pager's, which would inherit SIG_IGN
    try:
        environment = {"LESS": LESS, **os.environ}
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:  # noqa: S603 - what the person has set
            process.communicate(text.encode(errors="replace"))
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
