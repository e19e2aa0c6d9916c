"""A partial download: a file that grows as its bytes arrive from any source, always a prefix of the complete file.

A full disk raises a `PullFailed` that says what to do. `pull` decides when a file is complete, and where it goes then.
"""

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from treadle.core.errors import PullFailed
from treadle.models.downloads.storage import file_size, format_bytes

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class SourceFailed(Exception):
    """Raised where a source can't provide the rest; another one may."""


class PartialFile:
    """The partial download of a file of `whole` bytes."""

    def __init__(self, path: Path, whole: int) -> None:
        self.path = path
        self.whole = whole
        self.size = file_size(path)
        if self.size > whole:
            self.cut(0)

    @property
    def left(self) -> int:
        """How many bytes are still missing."""
        return self.whole - self.size

    def cut(self, size: int) -> None:
        """Keep only the first `size` bytes."""
        with self.path.open("ab") as file:
            file.truncate(size)
        self.size = size

    def add(self, data: bytes) -> None:
        """Write the next bytes."""
        with disk_full_guard(self.path.parent), self.path.open("ab", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                written = file.write(rest)
                self.size += written
                rest = rest[written:]

    def drop(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
        self.size = 0

    def become(self, path: Path) -> None:
        """Rename to the final path, once the data is safe on disk."""
        with disk_full_guard(self.path.parent), self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(path)

    def needs(self, more: int = 0) -> None:
        """Raise an error now if the rest, and `more` temporarily, can't fit on the disk."""
        folder = self.path.parent
        free = shutil.disk_usage(folder).free
        if free < self.left + more:
            raise PullFailed(
                f"{format_bytes(self.left + more)} are needed in {folder}, but only {format_bytes(free)} are free; {REMEDY}."
            )


REMEDY = "make room there, or let TREADLE_MODELS name another folder"


@contextmanager
def disk_full_guard(folder: Path) -> Generator[None]:
    """Turn disk-full errors while writing in `folder` into `PullFailed`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise disk_full_error(folder) from error


def disk_full_error(folder: Path) -> PullFailed:
    """Return the error for a full disk."""
    return PullFailed(f"The disk of {folder} is full; {REMEDY}, and pull again: what has come is kept.")
