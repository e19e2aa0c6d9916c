"""A command at a terminal of a certain size, and what a person sees on its screen (pyte)."""

import fcntl
import struct
import termios
import time
from pathlib import Path

import pyte

from cli.running import PATIENCE, Terminal

BRACKETED_PASTE = "\x1b[?2004h"  # switched on when the line editor begins a line


class ScreenTerminal(Terminal):
    """A terminal whose screen can be read."""

    def __init__(self, home: Path, *args: str, columns: int = 80, rows: int = 24, cwd: Path | None = None, **env: str) -> None:
        super().__init__(home, *args, cwd=cwd, COLUMNS=str(columns), NO_COLOR="1", **env)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.Stream(self._screen)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen that have text."""
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def prompted(self, times: int) -> None:
        """Wait until the line editor has begun so many lines, and the last one is empty."""
        deadline = time.monotonic() + PATIENCE
        while self.shown.count(BRACKETED_PASTE) < times or not self.lines or self.lines[-1] != ">":
            self._feed(self._read(deadline), "an empty prompt")

    def seen(self, *words: str) -> list[str]:
        """Wait until these words are on the screen; its lines."""
        deadline = time.monotonic() + PATIENCE
        while not all(any(each in line for line in self._screen.display) for each in words):
            self._feed(self._read(deadline), words)
        return self.lines

    def _feed(self, more: str, expected: object) -> None:
        assert more, f"{expected} was never seen on:\n" + "\n".join(self.lines)
        self.shown += more
        self._stream.feed(more)
