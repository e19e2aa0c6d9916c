"""Files that a run has read: an edit must be based on the current content, not on what a model remembers or imagines.

Kept in memory: a run that is resumed elsewhere has read nothing, and is asked to read again.
"""

import threading
from collections import OrderedDict
from hashlib import blake2b

from treadle.files.problems import FileChanged, FileNotRead, printable_name

MAX_RUNS = 256


class ReadRecord:
    """The files one run has read, each with the hash of what it read."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}

    def saw(self, path: str, data: bytes) -> None:
        """Record the file's current content: the run read it, or wrote it."""
        self._seen[path] = _hash(data)

    def forget(self, path: str) -> None:
        """Forget a deleted file."""
        self._seen.pop(path, None)

    def check(self, path: str, data: bytes) -> None:
        """Raise `FileNotRead` or `FileChanged` unless the run has read this content."""
        known = self._seen.get(path)
        if known is None:
            raise FileNotRead(
                f"{printable_name(path)} was not read yet in this run, so nothing was changed. Read it first, then edit it."
            )
        if known != _hash(data):
            raise FileChanged(
                f"{printable_name(path)} has changed since you read it, so nothing was changed. Read it again, then edit it."
            )

    def knows(self, path: str, data: bytes) -> bool:
        """Return whether the run has read exactly this content."""
        return self._seen.get(path) == _hash(data)


class ReadTracker:
    """The reads of each run; the least recently used runs are evicted."""

    def __init__(self, most: int = MAX_RUNS) -> None:
        self._runs: OrderedDict[str, ReadRecord] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()  # tools run in threads

    def of(self, run_id: str) -> ReadRecord:
        """Return what this run has read."""
        with self._lock:
            reads = self._runs.setdefault(run_id, ReadRecord())
            self._runs.move_to_end(run_id)
            while len(self._runs) > self._most:
                self._runs.popitem(last=False)
            return reads

    def knows(self, path: str, data: bytes) -> bool:
        """Return whether any run has read exactly this content."""
        with self._lock:
            return any(reads.knows(path, data) for reads in self._runs.values())


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
