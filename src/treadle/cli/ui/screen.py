"""Terminal output: answers and data on stdout, everything about them on stderr. All of it is cleaned here.

Colours are used only on a terminal where NO_COLOR isn't set.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import TextIO, TypeVar

from treadle.cli.ui.render import StreamCleaner, clean_for_terminal, fit_columns
from treadle.cli.ui.status_line import StatusLine
from treadle.core.wrapping import WordWrapper, wrap_words

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
HOLD_SECONDS = 1.0  # that a note is held
NARROWEST, WIDEST = 40, 200  # columns

RedirectT = TypeVar("RedirectT", bound=TextIO)


class ScreenStream:
    """One of the two output streams, and whether it is in the middle of a line."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.is_terminal = file.isatty()
        self.is_coloured = has_colour(file)
        self.is_open = False
        self.cleaner = StreamCleaner()
        self.wrapper = WordWrapper(WIDEST) if self.is_terminal and os.environ.get("TERM") != "dumb" else None

    def wrap(self, text: str) -> str:
        """Return a chunk of an answer, wrapped at words where the stream is a terminal."""
        if self.wrapper is None:
            return text
        self.wrapper.width = terminal_columns(self.file) - 1  # in the last column, terminals differ in where the cursor is
        return self.wrapper.feed(text)


class Screen:
    """Both output streams. `quiet` suppresses notes, never problems and questions."""

    def __init__(self, *, quiet: bool = False, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = ScreenStream(out or sys.stdout)
        self._err = ScreenStream(err or sys.stderr)
        self._quiet = quiet
        self.on_broken: Callable[[], None] | None = None  # what to do when nothing can be written; without it that is raised
        self.broken: OSError | None = None  # why: the reader has gone, the disk is full
        self.status = StatusLine(self._err.file, self._fit_status, draws=not quiet)
        self.topic: Hashable = None  # what the last line is about, where that was said
        self._held: dict[Hashable, tuple[str, str]] = {}  # notes to write before anything else, with their style

    @property
    def width(self) -> int | None:
        """The columns for data; None if stdout isn't a terminal."""
        return terminal_columns(self._out.file) if self._out.is_terminal else None

    @property
    def note_width(self) -> int:
        """The columns for notes."""
        return terminal_columns(self._err.file)

    @property
    def notes_on_terminal(self) -> bool:
        """Whether notes are read by a person as they come, and not from a file or by a program."""
        return self._err.is_terminal

    @property
    def fold_width(self) -> int | None:
        """The columns after which a terminal breaks a line of notes; None where they don't go to one."""
        actual = actual_columns(self._err.file)
        return min(self.note_width, actual or self.note_width) if self._err.is_terminal else None

    @property
    def is_shared(self) -> bool:
        """Whether both streams are a terminal, on which they must not run into each other."""
        return self._out.is_terminal and self._err.is_terminal

    @contextmanager
    def redirect(self, make: Callable[[TextIO], RedirectT]) -> Generator[tuple[RedirectT, RedirectT]]:
        """Write to other files in this context, made from the present ones. Widths and colours stay those of the terminal."""
        before = self._out.file, self._err.file
        made = make(before[0]), make(before[1])
        self._out.file, self._err.file = made
        try:
            yield made
        finally:
            self._out.file, self._err.file = before

    def _fit_status(self, text: str) -> str:
        """Return a status that doesn't wrap, whatever the width, nor with the `^C` that the terminal writes behind it."""
        columns = min(self.note_width, actual_columns(self._err.file) or self.note_width)
        return apply_style(self._err, fit_columns(clean_for_terminal(text), columns - 1 - len("^C")), "dim")

    def wrap(self, text: str, room: int = 0) -> str:
        """Return a note wrapped at words where it goes to a terminal, with room for so many more columns in each line."""
        return wrap_words(text, self.note_width - room if self._err.is_terminal else None)

    def say(self, text: str) -> None:
        """Write a chunk of an answer as it arrives."""
        self._stream(self._out, self._err, text)

    def think(self, text: str) -> None:
        """Write a chunk of a model's thinking."""
        self._stream(self._err, self._out, text, "dim")

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line of data."""
        self._begin()
        self._end(self._out)
        self._write(self._out, f"{apply_style(self._out, clean_for_terminal(text), style)}\n")

    def note(self, text: str, style: str = "dim", topic: Hashable = None) -> None:
        """Write a progress note, unless `quiet`. With a `topic`, which is what it is about, notes that are held stay so."""
        if self._quiet:
            return
        if topic is None:
            self._begin()
        self._tell(text, style)
        self.topic = topic

    def hold_note(self, topic: Hashable, text: str, style: str = "dim") -> None:
        """Write a note in a second, or before anything else is, unless another one comes in its place (`replace_held`).

        It is written at once where no status line shows meanwhile what goes on.
        """
        if self.status.is_drawing and not self._quiet:
            self._held[topic] = text, style
            asyncio.get_running_loop().call_later(HOLD_SECONDS, self.replace_held, topic)
        else:
            self.note(text, style, topic)

    def replace_held(self, topic: Hashable, text: str = "") -> bool:
        """Write another note in place of one that is held, or that one; others stay held. Return whether it was held."""
        if topic not in self._held:
            return False
        held, style = self._held.pop(topic)
        self._tell(text or held, style)
        self.topic = topic
        return True

    def drop_held(self, topic: Hashable) -> None:
        """Drop a note that is held: what it says is about to be written otherwise."""
        self._held.pop(topic, None)

    def release_held(self) -> None:
        """Write the notes that are held."""
        for topic in list(self._held):
            self.replace_held(topic)

    def _begin(self) -> None:
        """Prepare for other output: notes that are held come before it, and the topic is over."""
        self.release_held()
        self.topic = None

    def tell(self, text: str, style: str = "") -> None:
        """Write a line that a person has to see."""
        self._begin()
        self._tell(text, style)

    def _tell(self, text: str, style: str) -> None:
        self._end_other_line(self._out)
        self._end(self._err)
        self._write(self._err, f"{apply_style(self._err, clean_for_terminal(text), style)}\n")

    def prose(self, text: str, style: str = "") -> None:
        """Write sentences that a person has to see, wrapped at words; not for a command to copy, which has to stay one line."""
        self.tell(self.wrap(text), style)

    def ask(self, question: str) -> None:
        """Write a question, wrapped at words; the answer is typed on the same line."""
        self._begin()
        self._end_other_line(self._out)
        self._end(self._err)
        self._write(self._err, apply_style(self._err, clean_for_terminal(self.wrap(question, len(" y"))), "bold") + " ")

    def end_line(self) -> None:
        """End the line of the answer, if it is in the middle of one."""
        self._end(self._out)

    def _stream(self, stream: ScreenStream, other: ScreenStream, text: str, style: str = "") -> None:
        shown = stream.cleaner.feed(text)
        if shown:
            self._begin()
            self._end_other_line(other)
            self._write(stream, apply_style(stream, stream.wrap(shown), style))
            stream.is_open = not shown.endswith("\n")

    def _end_other_line(self, other: ScreenStream) -> None:
        """End the other stream's line if both are one terminal, so that they don't run into each other."""
        if self.is_shared:
            self._end(other)

    def _end(self, stream: ScreenStream) -> None:
        if stream.is_open:
            self._write(stream, "\n")
            stream.is_open = False
        if stream.wrapper is not None:
            stream.wrapper.begin_line()

    def _write(self, stream: ScreenStream, text: str) -> None:
        if self.broken is not None:
            return
        try:
            self.status.write(stream.file, text, is_terminal=stream.is_terminal)
            stream.file.flush()
        except OSError as error:
            if self.on_broken is None:
                raise
            self.broken = error
            self.on_broken()


def apply_style(stream: ScreenStream, text: str, style: str) -> str:
    """Return text in a style, which may be of several words: `bold red`. Unknown words are ignored."""
    codes = ";".join([STYLES[word] for word in style.split() if word in STYLES]) if stream.is_coloured and style else ""
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def has_colour(file: TextIO) -> bool:
    """Return whether this is a terminal that may show colours."""
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_columns(file: TextIO) -> int:
    """Return the width of a stream, within sensible bounds."""
    chosen = os.environ.get("COLUMNS", "")
    found = int(chosen) if chosen.isdecimal() else actual_columns(file)
    return min(max(found or WIDEST, NARROWEST), WIDEST)


def actual_columns(file: TextIO) -> int:
    """Return the width of a terminal; 0 where that isn't known."""
    try:
        return os.get_terminal_size(file.fileno()).columns
    except (OSError, ValueError):
        return 0
