"""The world outside: a file with a line for each effect, on the disk before the effect is over. No engine knows of it.

Its receiver of keyed effects knows the keys it has seen; whoever asks is told whether an effect happened.
"""

import fcntl
import os
from collections import Counter
from pathlib import Path


class World:
    """One file; any number of processes, one effect at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def happen(self, run_id: str, effect: str, key: str = "") -> None:
        """An effect. Its receiver honours keys: the second with the same one is none."""
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if key and any(line[2] == key for line in self._lines()):
                return
            os.write(file, f"{run_id}\t{effect}\t{key}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)

    def has(self, run_id: str, effect: str) -> bool:
        """Whether an effect happened."""
        return self.counted(run_id)[effect] > 0

    def counted(self, run_id: str) -> Counter[str]:
        """How often each effect of a run happened."""
        return Counter(line[1] for line in self._lines() if line[0] == run_id)

    def _lines(self) -> list[list[str]]:
        return [line.split("\t") for line in self._path.read_text().splitlines()] if self._path.exists() else []
