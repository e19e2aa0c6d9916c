"""Who takes up what a server left behind: one process for each home, which holds its lock for as long as it runs.

Another that serves the same home at the same time must not: it would take for left behind what is under way.
"""

import asyncio
import fcntl
from contextlib import ExitStack
from pathlib import Path

NAME = "serving.lock"
PATIENCE = 10.0  # seconds in which whoever held it before may let go of it
PAUSE = 0.1


class Lock:
    """The lock of one home. Nothing is made on disk before there is something to hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = ExitStack()
        self.is_held = False

    def try_now(self) -> bool:
        """Hold it, if nobody else does."""
        if self.is_held:
            return True
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._held.enter_context((self._folder / NAME).open("ab"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._held.close()
        else:
            self.is_held = True
        return self.is_held

    async def wait(self, patience: float = PATIENCE) -> bool:
        """Hold it, as soon as nobody else does; False where that takes too long."""
        for _ in range(int(patience / PAUSE)):
            if self.try_now():
                return True
            await asyncio.sleep(PAUSE)
        return False

    def let_go(self) -> None:
        """Let somebody else hold it."""
        self._held.close()
        self.is_held = False
