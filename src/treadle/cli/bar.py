"""How far something is that takes its time: a bar that is drawn over and over at a terminal.

A pull also has words for where there is no terminal: a line now and then. Loading a model is shown at terminals only.
"""

import sys
from time import monotonic
from typing import Any, Self, TextIO

from treadle.cli.render import fit
from treadle.cli.screen import Screen
from treadle.models.local import sized
from treadle.models.pull import Progress

CELLS = 24  # of the bar
REDRAW = 0.1  # seconds between two drawings
STEPS = 10  # lines without a terminal


def cells(done: float, total: float) -> str:
    """The bar itself."""
    filled = int(done * CELLS // max(total, 1))
    return f"[{'#' * filled}{'.' * (CELLS - filled)}]"


class Line:
    """A line of a terminal that is drawn over and over. Left, it is as if nothing had been there."""

    def __init__(self, screen: Screen, file: TextIO | None = None) -> None:
        self._screen = screen
        self._file = file or sys.stderr
        self._drawn = float("-inf")
        self.is_seen = self._file.isatty()

    def draw(self, text: str, *, at_once: bool = False) -> None:
        """Show this instead, unless something was drawn only just now."""
        now = monotonic()
        if self.is_seen and (at_once or now - self._drawn >= REDRAW):
            self._drawn = now
            self._write(fit(text, self._screen.note_width - 1))

    def clear(self) -> None:
        """Show nothing."""
        if self.is_seen:
            self._write("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def _write(self, text: str) -> None:
        self._file.write(f"\r{text}\x1b[K")
        self._file.flush()


class Bar:
    """Shows the progress of one pull."""

    def __init__(self, name: str, screen: Screen, file: TextIO | None = None) -> None:
        self._name = name
        self._screen = screen
        self._line = Line(screen, file)
        self._stage = ""
        self._step = -1
        self._began = (0.0, 0)  # when, and at how many bytes

    def show(self, progress: Progress) -> None:
        """Show this, if it differs enough from what is shown."""
        stage = f"{progress.stage} {progress.source}"
        is_new = stage != self._stage
        if is_new:
            self._stage, self._step = stage, -1
            self._began = monotonic(), progress.done
        if self._line.is_seen:
            drawn = f"{self._name} {cells(progress.done, progress.total)} {words(progress)}{self._speed(progress)}"
            self._line.draw(drawn, at_once=is_new or progress.done >= progress.total)
        else:
            self._tell(progress)

    def clear(self) -> None:
        """Show nothing, until there is more."""
        self._line.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def _tell(self, progress: Progress) -> None:
        step = progress.done * STEPS // max(progress.total, 1) if progress.stage == "fetching" else 0
        if step > self._step:
            self._step = step
            self._screen.note(f"{self._name}: {words(progress)}")

    def _speed(self, progress: Progress) -> str:
        began, done = self._began
        passed = monotonic() - began
        if progress.stage != "fetching" or passed < 1 or progress.done <= done:
            return ""
        return f", {sized((progress.done - done) / passed)}/s"


def words(progress: Progress) -> str:
    """Progress in words."""
    match progress.stage:
        case "waiting":
            return "another process pulls it already; waiting"
        case "checking":
            return "checking what has come"
        case "fetching":
            percent = 100 * progress.done // max(progress.total, 1)
            return f"{percent} %, {sized(progress.done)} of {sized(progress.total)} from {progress.source}"


def show_loading(model: Any, screen: Screen, file: TextIO | None = None) -> None:
    """Let a model that has to be loaded (it has `on_load`) show how far that is."""
    from pathlib import PurePath

    line, name = Line(screen, file), PurePath(model.name.partition(":")[2]).name

    def show(share: float) -> None:
        if share < 1:
            line.draw(f"Loading {name} {cells(share, 1)} {int(100 * share)} %")
        else:
            line.clear()

    model.on_load = show
