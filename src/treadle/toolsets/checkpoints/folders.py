"""Folders beneath a folder, opened part by part and never through a link: not by one that was swapped in a moment ago either."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened(root: Path, where: str, *, make: bool = False) -> Generator[int]:
    """A folder's descriptor; `where` is relative, and empty for the root itself. `make` makes what is missing on the way."""
    here = os.open(root, _FOLDER)
    try:
        for part in where.split("/") if where else ():
            there = _below(here, part, make=make)
            os.close(here)
            here = there
        yield here
    finally:
        os.close(here)


def _below(here: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(part, dir_fd=here)
    return os.open(part, _FOLDER, dir_fd=here)


def split(path: str) -> tuple[str, str]:
    """The folder of a path, and its name in there."""
    folder, _, name = path.rpartition("/")
    return folder, name
