"""What a run has read: an edit needs to be made of what is there now, not of what a model remembers or imagines.

Kept in memory: a run that is resumed elsewhere has read nothing, and is told to read again.
"""

import threading
from collections import OrderedDict
from hashlib import blake2b

from treadle.files.problems import Changed, NotRead, shown

MOST_RUNS = 256


class Reads:
    """The files one run has read, each with the hash of what it read."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}

    def saw(self, path: str, data: bytes) -> None:
        """The run knows the file as it is now: it read it, or wrote it."""
        self._seen[path] = _hash(data)

    def forget(self, path: str) -> None:
        """The file is gone."""
        self._seen.pop(path, None)

    def check(self, path: str, data: bytes) -> None:
        """That the run knows this content: `NotRead` or `Changed` if it doesn't."""
        known = self._seen.get(path)
        if known is None:
            raise NotRead(f"{shown(path)} was not read yet in this run, so nothing was changed. Read it first, then edit it.")
        if known != _hash(data):
            raise Changed(f"{shown(path)} has changed since you read it, so nothing was changed. Read it again, then edit it.")

    def knows(self, path: str, data: bytes) -> bool:
        """Whether the run has read just this content."""
        return self._seen.get(path) == _hash(data)


class ReadsOfRuns:
    """The reads of each run; of the runs that were idle the longest, nothing is kept."""

    def __init__(self, most: int = MOST_RUNS) -> None:
        self._runs: OrderedDict[str, Reads] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()  # tools run in threads

    def of(self, run_id: str) -> Reads:
        """What this run has read."""
        with self._lock:
            reads = self._runs.setdefault(run_id, Reads())
            self._runs.move_to_end(run_id)
            while len(self._runs) > self._most:
                self._runs.popitem(last=False)
            return reads

    def knows(self, path: str, data: bytes) -> bool:
        """Whether any run has read just this content."""
        with self._lock:
            return any(reads.knows(path, data) for reads in self._runs.values())


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
