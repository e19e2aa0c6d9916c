"""A walk of a workspace folder by folder. Each is opened beneath its parent, and never through a symlink."""

import os
import stat
from collections.abc import Generator, Iterator
from pathlib import Path

from msgspec import Struct

MAX_DEPTH = 150  # folders below one another, each of which is held open
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenFolder(Struct, frozen=True):
    """A folder that is open while it is read. `where` is its path from the workspace, empty for the workspace itself."""

    descriptor: int
    where: str
    files: list[str]
    folders: list[str]
    others: list[str]  # links, sockets, pipes, devices

    def path(self, name: str) -> str:
        """Return the path of an entry, relative to the workspace."""
        return f"{self.where}/{name}" if self.where else name


def walk_folders(workspace: Path, *, opening: int | None = None) -> Generator[OpenFolder]:
    """Yield every folder that can be read. The contents of git folders are skipped.

    A folder that its owner can't read, because it was made so after the time `opening`, in nanoseconds, is made readable first.
    """
    opened: list[tuple[int, str, Iterator[str]]] = []
    try:
        root = _read_folder(None, str(workspace), "", opening)
        while root is not None or opened:
            if root is not None:
                below = [name for name in root.folders if not is_git_name(name)]
                opened.append((root.descriptor, root.where, iter(below if len(opened) < MAX_DEPTH else ())))
                yield root
            descriptor, where, names = opened[-1]
            name = next(names, None)
            if name is None:
                opened.pop()
                os.close(descriptor)
            root = None if name is None else _read_folder(descriptor, name, f"{where}/{name}" if where else name, opening)
    finally:
        for descriptor, _, _ in opened:
            os.close(descriptor)


def is_git_name(name: str) -> bool:
    """Return whether git takes this name for a repository, also on a case-insensitive file system."""
    return name.casefold() == ".git"


def _read_folder(parent: int | None, name: str, where: str, opening: int | None) -> OpenFolder | None:
    try:
        descriptor = _open_folder(parent, name, opening)
    except OSError:  # gone, not ours to read, or a link by now
        return None
    try:
        folder = OpenFolder(descriptor, where, [], [], [])
        with os.scandir(descriptor) as entries:
            for entry in entries:
                _list_for(folder, entry).append(entry.name)
    except OSError:
        os.close(descriptor)
        return None
    return folder


def _open_folder(parent: int | None, name: str, opening: int | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        if opening is None:
            raise
    held = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        known = os.fstat(held)
        if known.st_ctime_ns >= opening:
            Path(f"/proc/self/fd/{held}").chmod(stat.S_IMODE(known.st_mode) | stat.S_IRWXU)
        return os.open(name, _FOLDER, dir_fd=parent)
    finally:
        os.close(held)


def _list_for(folder: OpenFolder, entry: "os.DirEntry[str]") -> list[str]:
    """Return which of a folder's lists an entry belongs to; most file systems say so without a stat of each."""
    if entry.is_file(follow_symlinks=False):
        return folder.files
    return folder.folders if entry.is_dir(follow_symlinks=False) else folder.others
