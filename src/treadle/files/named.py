"""A file that a person named by itself, wherever it lies: on a command line or in settings. Paths in a folder are `workspace`'s."""

import os
import stat
from pathlib import Path

from treadle.core.errors import SettingsError
from treadle.core.regular import NotRegular, open_regular
from treadle.files.problems import shown
from treadle.files.workspace import open_without_links

MEGABYTE = 1_000_000


class NotOpened(SettingsError):
    """A file that was named can't be read; says why, and what to name instead."""


def read_named(path: Path | str, most: int, *, name: str = "", pipes: bool = False) -> bytes:
    """Return all of a file of at most `most` bytes. Raises `NotOpened`. Blocks: call it in a thread where there is an event loop.

    `name` is what a person knows the file by. `pipes` lets it be a pipe, for what was typed in a shell: `<(git show …)`.
    """
    known = shown(name or str(path))
    try:
        with os.fdopen(_opened(str(Path(path).expanduser()), pipes=pipes), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(most + 1) if size <= most else b""
    except NotRegular as error:
        what = "a folder; name a file in it" if error.is_folder else "no regular file, so it isn't read; name one that is"
        raise NotOpened(f"{known} is {what}.") from error
    except FileNotFoundError as error:
        raise NotOpened(f"There is no file {known}.") from error
    except OSError as error:
        raise NotOpened(f"{known} can't be read: {error.strerror}.") from error
    except (RuntimeError, ValueError) as error:  # no such user's home; a character that no path has
        raise NotOpened(f"There is no file {known}.") from error
    if max(size, len(data)) > most:
        raise NotOpened(f"{known} has {_size(max(size, len(data)))}; files up to {_size(most)} are read.")
    return data


def head_of(path: Path, most: int) -> bytes:
    """Return the first bytes of a regular file that isn't a link; none where there is no such file, or where it can't be read."""
    try:
        with os.fdopen(open_without_links(path.parent, path.name), "rb") as file:
            return file.read(most)
    except OSError:
        return b""


def _opened(path: str, *, pipes: bool) -> int:
    try:
        return open_regular(path)
    except NotRegular as error:
        if not pipes or not (stat.S_ISFIFO(error.mode) or stat.S_ISCHR(error.mode)):
            raise
        return os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)


def _size(count: int) -> str:
    return f"{count / MEGABYTE:.0f} MB" if count >= MEGABYTE else f"{count:,} bytes"
