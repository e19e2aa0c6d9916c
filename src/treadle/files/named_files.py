"""Files that the user named explicitly, on a command line or in settings. Paths in a folder are handled by `workspace`."""

import os
import stat
from pathlib import Path

from treadle.core.errors import SettingsError
from treadle.core.regular_files import NotRegular, open_regular
from treadle.files.problems import printable_name
from treadle.files.workspace import open_without_links

MEGABYTE = 1_000_000


class NotOpened(SettingsError):
    """A named file can't be read; says why, and what to name instead."""


def read_named(path: Path | str, most: int, *, name: str = "", pipes: bool = False) -> bytes:
    """Return the content of a file of at most `most` bytes. Raises `NotOpened`. Blocks: call it in a thread of an async program.

    `name` is the name for messages. `pipes` allows a pipe, for shell arguments: `<(git show …)`.
    """
    known = printable_name(name or str(path))
    try:
        with os.fdopen(_open_named(str(Path(path).expanduser()), pipes=pipes), "rb") as file:
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
        raise NotOpened(f"{known} has {_format_size(max(size, len(data)))}; files up to {_format_size(most)} are read.")
    return data


def head_of(path: Path, most: int) -> bytes:
    """Return the first bytes of a regular file that isn't a link; none where it doesn't exist or can't be read."""
    try:
        with os.fdopen(open_without_links(path.parent, path.name), "rb") as file:
            return file.read(most)
    except OSError:
        return b""


def _open_named(path: str, *, pipes: bool) -> int:
    try:
        return open_regular(path)
    except NotRegular as error:
        if not pipes or not (stat.S_ISFIFO(error.mode) or stat.S_ISCHR(error.mode)):
            raise
        return os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)


def _format_size(count: int) -> str:
    return f"{count / MEGABYTE:.0f} MB" if count >= MEGABYTE else f"{count:,} bytes"
