"""The status line: the last line of a terminal, which says what is awaited and is drawn anew in place.

It is erased before anything else is written, and when the wait is over. What it says is up to its callers: `run_status` for runs,
`progress_bar` for downloads. A terminal that can't erase a line (`TERM=dumb`) gets it once for each long wait, as a line of its
own. Nothing is drawn where stderr is no terminal.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from threading import RLock
from time import monotonic
from typing import Any, TextIO, cast

DELAY = 0.3  # seconds before anything is drawn: what is over by then needs no status
REDRAW_SECONDS = 0.1
LONG_WAIT = 3.0  # seconds before a terminal that can't erase a line is told what is awaited

Describe = Callable[[], str]


class StatusLine:
    """One per screen. `fit` cuts a text to the terminal's width; without `draws`, nothing is ever drawn."""

    def __init__(
        self, file: TextIO, fit: Callable[[str], str], *, draws: bool = True, clock: Callable[[], float] = monotonic
    ) -> None:
        self._file = file
        self._fit = fit
        self._clock = clock
        self._waits: list[tuple[Describe | None, float]] = []  # the innermost last, with when it began; None while hidden
        self._drawn = ""
        self._drawn_at = float("-inf")
        self._mid_line = False  # other text stands before the cursor
        self._timer: asyncio.TimerHandle | None = None
        self._lock = RLock()  # tools may print in threads
        self._printed_for = float("-inf")  # when the wait began that a line was printed for
        self._is_shown = draws and file.isatty()
        self.draws = self._is_shown and os.environ.get("TERM") != "dumb"

    @property
    def is_drawing(self) -> bool:
        """Whether the line shows now what is awaited, or will as soon as that takes long."""
        return self.draws and bool(self._waits) and self._waits[-1][0] is not None

    @contextmanager
    def showing(self, describe: Describe) -> Generator[None]:
        """Show what `describe` returns, as it changes, until the block is over."""
        with self._waiting(describe), self._ticking(), self._streams_guarded():
            yield

    @contextmanager
    def hidden(self) -> Generator[None]:
        """Show nothing of itself until the block is over: a person is typing, or a progress bar is drawn.

        A line editor gets the terminal itself.
        """
        with self._waiting(None), ExitStack() as stack:
            if isinstance(sys.stdout, GuardedStream) and isinstance(sys.stderr, GuardedStream):
                stack.enter_context(redirect_stdout(sys.stdout.stream))
                stack.enter_context(redirect_stderr(sys.stderr.stream))
            yield
        self._mid_line = False  # what they typed ended the line

    @contextmanager
    def _waiting(self, describe: Describe | None) -> Generator[None]:
        self.erase()
        before = self._waits
        self._waits = [*before, (describe, self._clock())]
        try:
            yield
        finally:
            self._waits = before
            self.erase()

    @contextmanager
    def _ticking(self) -> Generator[None]:
        """Draw the line a few times a second while the outermost block runs."""
        if not self._is_shown or self._timer is not None:
            yield
            return
        loop = asyncio.get_running_loop()

        def tick() -> None:
            self.refresh()
            self._timer = loop.call_later(REDRAW_SECONDS, tick)

        self._timer = loop.call_later(REDRAW_SECONDS, tick)
        try:
            yield
        finally:
            self._timer.cancel()
            self._timer = None

    @contextmanager
    def _streams_guarded(self) -> Generator[None]:
        if not self._is_shown or isinstance(sys.stderr, GuardedStream):
            yield
            return
        out, err = GuardedStream(sys.stdout, self), GuardedStream(sys.stderr, self)
        with redirect_stdout(cast("TextIO", out)), redirect_stderr(cast("TextIO", err)):
            yield

    def refresh(self) -> None:
        """Draw the line, if it has changed."""
        describe, began = self._waits[-1] if self._waits else (None, 0.0)
        if not self._is_shown or describe is None or self._clock() - began < DELAY:
            return
        if self.draws:
            self._replace(describe())
        elif self._clock() - began >= LONG_WAIT and began > self._printed_for and not self._mid_line:
            self._printed_for = began
            self._put(f"{self._fit(describe())}\n")

    def draw(self, text: str, *, at_once: bool = False) -> None:
        """Draw this text, unless another was drawn only just now."""
        now = self._clock()
        if self.draws and (at_once or now - self._drawn_at >= REDRAW_SECONDS):
            self._drawn_at = now
            self._replace(text)

    def _replace(self, text: str) -> None:
        text = self._fit(text)
        with self._lock:
            if text != self._drawn and not self._mid_line:
                self._put(f"\r{text}\x1b[K")
                self._drawn = text

    def erase(self) -> None:
        """Erase the line, until it is drawn again."""
        with self._lock:
            if self._drawn:
                self._drawn = ""
                self._put("\r\x1b[K")

    def write(self, file: TextIO, text: str, *, is_terminal: bool) -> None:
        """Write other text, in place of the line."""
        with self._lock:
            self.erase()
            file.write(text)
            if is_terminal and text:
                self._mid_line = not text.endswith("\n")

    def _put(self, text: str) -> None:
        with suppress(OSError):  # the terminal is gone
            self._file.write(text)
            self._file.flush()


class GuardedStream:
    """A standard stream while there is a status line, which is erased before a tool, or any other code, prints something."""

    def __init__(self, stream: TextIO, line: StatusLine) -> None:
        self.stream = stream
        self._line = line
        self._is_terminal = stream.isatty()

    def write(self, text: str) -> int:
        """Write text."""
        self._line.write(self.stream, text, is_terminal=self._is_terminal)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
