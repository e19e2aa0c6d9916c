"""Where a person reads: answers and data on stdout, everything about them on stderr. All of it is cleaned here.

Colours only on a terminal whose owner hasn't asked for none (NO_COLOR).
"""

import os
import sys
from collections.abc import Callable
from typing import TextIO

from treadle.cli.render import Cleaner, clean

STYLES = {  # of letters only: what is behind them is the person's own choice
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
NARROWEST, WIDEST = 40, 200  # columns


class Stream:
    """One of the two, and whether it is in the middle of a line."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.is_terminal = file.isatty()
        self.is_coloured = wants_colours(file)
        self.is_open = False
        self.cleaner = Cleaner()


class Screen:
    """Both streams. `quiet` leaves out notes, never problems and questions."""

    def __init__(self, *, quiet: bool = False, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = Stream(out or sys.stdout)
        self._err = Stream(err or sys.stderr)
        self._quiet = quiet
        self._is_shared = self._out.is_terminal and self._err.is_terminal
        self.on_broken: Callable[[], None] | None = None  # what to do when nobody reads any more; without it that is raised
        self.is_broken = False

    @property
    def width(self) -> int | None:
        """Columns for data; None where they don't go to a terminal."""
        return columns(self._out.file) if self._out.is_terminal else None

    @property
    def note_width(self) -> int:
        """Columns for notes."""
        return columns(self._err.file)

    def say(self, text: str) -> None:
        """A piece of an answer, as it comes."""
        self._stream(self._out, self._err, text)

    def think(self, text: str) -> None:
        """A piece of what a model thinks."""
        self._stream(self._err, self._out, text, "dim")

    def line(self, text: str = "", style: str = "") -> None:
        """A line of data."""
        self._end(self._out)
        self._write(self._out, f"{painted(self._out, clean(text), style)}\n")

    def note(self, text: str, style: str = "dim") -> None:
        """A line about what happens."""
        if not self._quiet:
            self.tell(text, style)

    def tell(self, text: str, style: str = "") -> None:
        """A line that a person has to see."""
        self._make_way(self._out)
        self._end(self._err)
        self._write(self._err, f"{painted(self._err, clean(text), style)}\n")

    def ask(self, question: str) -> None:
        """A question; the answer is written on the same line."""
        self._make_way(self._out)
        self._end(self._err)
        self._write(self._err, painted(self._err, clean(question), "bold") + " ")

    def end_line(self) -> None:
        """End the line of the answer, if it is in the middle of one."""
        self._end(self._out)

    def _stream(self, stream: Stream, other: Stream, text: str, style: str = "") -> None:
        shown = stream.cleaner.feed(text)
        if shown:
            self._make_way(other)
            self._write(stream, painted(stream, shown, style))
            stream.is_open = not shown.endswith("\n")

    def _make_way(self, other: Stream) -> None:
        """Where both streams are one terminal, they must not run into each other."""
        if self._is_shared:
            self._end(other)

    def _end(self, stream: Stream) -> None:
        if stream.is_open:
            self._write(stream, "\n")
            stream.is_open = False

    def _write(self, stream: Stream, text: str) -> None:
        if self.is_broken:
            return
        try:
            stream.file.write(text)
            stream.file.flush()
        except BrokenPipeError:
            if self.on_broken is None:
                raise
            self.is_broken = True
            self.on_broken()


def painted(stream: Stream, text: str, style: str) -> str:
    """Text in a style, which may be of several words: `bold red`. A word that is none means nothing."""
    codes = ";".join([STYLES[word] for word in style.split() if word in STYLES]) if stream.is_coloured and style else ""
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def wants_colours(file: TextIO) -> bool:
    """Whether this is a terminal whose owner hasn't asked for none."""
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns(file: TextIO) -> int:
    """How wide a stream is, within reason."""
    chosen = os.environ.get("COLUMNS", "")
    try:
        found = int(chosen) if chosen.isdecimal() else os.get_terminal_size(file.fileno()).columns
    except (OSError, ValueError):
        found = 0
    return min(max(found or WIDEST, NARROWEST), WIDEST)
