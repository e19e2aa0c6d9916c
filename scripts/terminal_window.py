"""A shell in a real terminal, which is a window of a tmux of its own: keys are pressed as a person does, and the screen is watched.

Times are real, except that long waits are shown faster.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from terminal_picture import Film, Look, plain

KEY, LOOK = 0.045, 0.1  # seconds between two keys, and between two looks
LONGEST, FASTER = 1.5, 8  # seconds after which a wait is shown faster, and how much
PATIENCE = 180  # seconds after which a wait is too long
STATE = "#{history_size} #{cursor_flag} #{cursor_y} #{cursor_x}"


class Window:
    """The window. `home` is shown as `~`."""

    def __init__(self, folder: Path, home: Path, environment: Mapping[str, str], columns: int, rows: int) -> None:
        self.looks: list[Look] = []
        self.keys: list[tuple[float, str]] = []
        self.clock = 0.0
        self.still: float | None = None
        self._home = str(home)
        self._begin = ("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder), "sh", "-i")
        self._environment = {**environment, "HOME": str(home), "LANG": "C.UTF-8"}
        self._last = ""

    def __enter__(self) -> Self:
        self._tmux("-f", "/dev/null", *self._begin, ";", "set-option", "status", "off")
        self._looked, self._changed = monotonic(), 0.0  # when the screen was seen last, and the clock when it changed
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def until(self, line: str) -> None:
        """Watch until the last line ends with these words."""
        began = monotonic()
        while not self._last.endswith(line):
            if monotonic() - began > PATIENCE:
                raise TimeoutError(f"{line!r} never came; the last line is {self._last!r}")
            sleep(LOOK)
            self._look()

    def wait(self, seconds: float) -> None:
        """Let time pass, as a person does who reads."""
        until = monotonic() + seconds
        while monotonic() < until:
            sleep(LOOK)
            self._changed = self.clock
            self._look()

    def write(self, text: str) -> None:
        """Type a text."""
        for number, key in enumerate(text):
            self._tmux("send-keys", "-l", key)
            sleep(KEY)
            self._changed = self.clock
            if number % 2 or number == len(text) - 1:
                self._look()

    def enter(self, text: str) -> None:
        """Type a line."""
        self.write(text)
        self.wait(0.4)
        self._tmux("send-keys", "Enter")

    def press(self, key: str, name: str) -> None:
        """Press a key, whose name is shown."""
        self.keys.append((round(self.clock, 2), name))
        self._tmux("send-keys", key)
        self.wait(0.3)

    def hold(self) -> None:
        """Have the picture show the present moment where nothing may move."""
        self.still = round(self.clock, 2)

    def film(self) -> Film:
        """What was seen."""
        return Film(self.looks, self.keys, round(self.clock, 2), self.still)

    def _tmux(self, *words: str) -> str:
        line = ["tmux", "-S", f"{self._home}/tmux", *words]
        return subprocess.run(line, env=self._environment, check=True, capture_output=True, encoding="utf-8").stdout  # noqa: S603

    def _look(self) -> None:
        """See what has changed. Time passes faster where that is nothing for long, or only the cursor's line: it counts seconds."""
        seen = self._tmux("display-message", "-p", STATE, ";", "capture-pane", "-p", "-e")
        state, *rows = seen.replace(self._home, "~").removesuffix("\n").split("\n")
        top, visible, row, column = map(int, state.split())
        now = monotonic()
        passed, self._looked = now - self._looked, now
        self.clock += passed if self.clock - self._changed < LONGEST else passed / FASTER
        look = Look(round(self.clock, 2), top, rows, (row, column) if visible else None)
        before = self.looks[-1] if self.looks else look._replace(rows=())
        if before[1:] == look[1:]:
            return
        self.looks.append(look)
        if (before.top, before.rows[:row], before.rows[row + 1 :]) != (top, rows[:row], rows[row + 1 :]):
            self._changed = self.clock
        self._last = next((line for line in map(plain, reversed(rows)) if line), "")
