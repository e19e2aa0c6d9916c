"""Progress bars that are redrawn in place on a terminal.

Without a terminal, a pull prints a line now and then. Loading a model is shown on terminals only.
"""

import sys
from time import monotonic
from typing import Any, Self, TextIO

from treadle.cli.ui.render import fit_columns
from treadle.cli.ui.screen import Screen
from treadle.models.downloads.pull import PullProgress
from treadle.models.downloads.storage import format_bytes

CELLS = 24  # of the bar
REDRAW_SECONDS = 0.1  # seconds between two drawings
STEPS = 10  # lines without a terminal


def draw_bar(done: float, total: float) -> str:
    """Return the bar itself."""
    filled = int(done * CELLS // max(total, 1))
    return f"[{'#' * filled}{'.' * (CELLS - filled)}]"


class StatusLine:
    """A terminal line that is redrawn in place. Leaving the context clears it."""

    def __init__(self, screen: Screen, file: TextIO | None = None) -> None:
        self._screen = screen
        self._file = file or sys.stderr
        self._drawn = float("-inf")
        self.is_seen = self._file.isatty()

    def draw(self, text: str, *, at_once: bool = False) -> None:
        """Replace the line with this text, unless it was drawn only just now."""
        now = monotonic()
        if self.is_seen and (at_once or now - self._drawn >= REDRAW_SECONDS):
            self._drawn = now
            self._write(fit_columns(text, self._screen.note_width - 1))

    def clear(self) -> None:
        """Clear the line."""
        if self.is_seen:
            self._write("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def _write(self, text: str) -> None:
        self._file.write(f"\r{text}\x1b[K")
        self._file.flush()


class ProgressBar:
    """The progress of one pull."""

    def __init__(self, name: str, screen: Screen, file: TextIO | None = None) -> None:
        self._name = name
        self._screen = screen
        self._line = StatusLine(screen, file)
        self._stage = ""
        self._step = -1
        self._began = (0.0, 0)  # when, and at how many bytes

    def show(self, progress: PullProgress) -> None:
        """Show this progress, if it differs enough from what is shown."""
        stage = f"{progress.stage} {progress.source}"
        is_new = stage != self._stage
        if is_new:
            self._stage, self._step = stage, -1
            self._began = monotonic(), progress.done
        if self._line.is_seen:
            bar = draw_bar(progress.done, progress.total)
            drawn = f"{self._name} {bar} {format_pull_progress(progress)}{self._format_speed(progress)}"
            self._line.draw(drawn, at_once=is_new or progress.done >= progress.total)
        else:
            self._note(progress)

    def clear(self) -> None:
        """Clear the bar until there is more progress."""
        self._line.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def _note(self, progress: PullProgress) -> None:
        step = progress.done * STEPS // max(progress.total, 1) if progress.stage == "fetching" else 0
        if step > self._step:
            self._step = step
            self._screen.note(f"{self._name}: {format_pull_progress(progress)}")

    def _format_speed(self, progress: PullProgress) -> str:
        began, done = self._began
        passed = monotonic() - began
        if progress.stage != "fetching" or passed < 1 or progress.done <= done:
            return ""
        return f", {format_bytes((progress.done - done) / passed)}/s"


def format_pull_progress(progress: PullProgress) -> str:
    """Format progress as text."""
    match progress.stage:
        case "waiting":
            return "another process pulls it already; waiting"
        case "checking":
            return "checking what has come"
        case "fetching":
            percent = 100 * progress.done // max(progress.total, 1)
            return f"{percent} %, {format_bytes(progress.done)} of {format_bytes(progress.total)} from {progress.source}"


def attach_loading_bar(model: Any, screen: Screen, file: TextIO | None = None) -> None:
    """Make a model that has to be loaded (it has `on_load`) show its loading progress."""
    from pathlib import PurePath

    line, name = StatusLine(screen, file), PurePath(model.name.partition(":")[2]).name

    def show(share: float) -> None:
        if share < 1:
            line.draw(f"Loading {name} {draw_bar(share, 1)} {int(100 * share)} %")
        else:
            line.clear()

    model.on_load = show
