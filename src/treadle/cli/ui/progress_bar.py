"""The progress bar of a download, drawn on the status line. Without a terminal, it prints a line now and then."""

from contextlib import ExitStack
from time import monotonic
from typing import Self

from treadle.cli.ui.screen import Screen
from treadle.models.downloads.pull import PullProgress
from treadle.models.downloads.storage import format_bytes

CELLS = 24  # of the bar
STEPS = 10  # lines without a terminal


def draw_bar(done: float, total: float) -> str:
    """Return the bar itself."""
    filled = int(done * CELLS // max(total, 1))
    return f"[{'#' * filled}{'.' * (CELLS - filled)}]"


class ProgressBar:
    """The progress of one pull."""

    def __init__(self, name: str, screen: Screen) -> None:
        self._name = name
        self._screen = screen
        self._alone = ExitStack()
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
        if self._screen.status.draws:
            bar = draw_bar(progress.done, progress.total)
            drawn = f"{self._name} {bar} {format_pull_progress(progress)}{self._format_speed(progress)}"
            self._screen.status.draw(drawn, at_once=is_new or progress.done >= progress.total)
        else:
            self._note(progress)

    def clear(self) -> None:
        """Clear the bar until there is more progress."""
        self._screen.status.erase()

    def __enter__(self) -> Self:
        self._alone.enter_context(self._screen.status.hidden())  # nothing else is awaited
        return self

    def __exit__(self, *_: object) -> None:
        self._alone.close()

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
