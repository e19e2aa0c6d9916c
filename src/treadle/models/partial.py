"""A file that grows as its bytes arrive, from whichever source: the beginning of the whole, never anything else.

A full disk is a `PullFailed` that says what to do. When a file is whole, and where it goes then, is `pull`.
"""

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from treadle.core.errors import PullFailed
from treadle.models.local import size_of, sized

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class SourceFailed(Exception):
    """A source can't give the rest; another one may."""


class Partial:
    """What has come so far of a file of `whole` bytes."""

    def __init__(self, path: Path, whole: int) -> None:
        self.path = path
        self.whole = whole
        self.size = size_of(path)
        if self.size > whole:
            self.cut(0)

    @property
    def left(self) -> int:
        """How many bytes are still to come."""
        return self.whole - self.size

    def cut(self, size: int) -> None:
        """Keep only the first so many bytes."""
        with self.path.open("ab") as file:
            file.truncate(size)
        self.size = size

    def add(self, data: bytes) -> None:
        """Write the next bytes."""
        with writing(self.path.parent), self.path.open("ab", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                written = file.write(rest)
                self.size += written
                rest = rest[written:]

    def drop(self) -> None:
        """Remove it."""
        self.path.unlink(missing_ok=True)
        self.size = 0

    def become(self, path: Path) -> None:
        """Take its final name, once it is safe on disk."""
        with writing(self.path.parent), self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(path)

    def needs(self, more: int = 0) -> None:
        """Say now if the rest, and `more` for a while, can't fit."""
        folder = self.path.parent
        free = shutil.disk_usage(folder).free
        if free < self.left + more:
            raise PullFailed(f"{sized(self.left + more)} are needed in {folder}, but only {sized(free)} are free; {REMEDY}.")


REMEDY = "make room there, or let TREADLE_MODELS name another folder"


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """What is written in `folder` meanwhile may find the disk full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise full(folder) from error


def full(folder: Path) -> PullFailed:
    """The error for a full disk."""
    return PullFailed(f"The disk of {folder} is full; {REMEDY}, and pull again: what has come is kept.")
