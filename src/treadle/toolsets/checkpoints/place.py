"""Puts files of a folder back as they were. Follows no link, and touches nothing that isn't as it was when it was looked at."""

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from treadle.toolsets.checkpoints.folders import opened, split
from treadle.toolsets.checkpoints.scan import LINK, PROGRAM, stamp_of
from treadle.toolsets.checkpoints.values import Kept, Stamp

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Place:
    """A folder, and how its files looked a moment ago."""

    def __init__(self, folder: Path, stamps: Mapping[str, Stamp]) -> None:
        self._folder = folder
        self._stamps = stamps

    def remove(self, path: str) -> None:
        """A file or a link."""
        where, name = split(path)
        with opened(self._folder, where) as parent:
            self._check(parent, name, path)
            os.unlink(name, dir_fd=parent)

    def prune(self, folders: Iterable[str]) -> None:
        """Those of these folders that have become empty, and those that they lie in, if they have."""
        for where in sorted({*folders}, key=lambda folder: folder.count("/"), reverse=True):
            above, name = split(where)
            with suppress(OSError), opened(self._folder, above) as parent:
                os.rmdir(name, dir_fd=parent)

    def put(self, path: str, kept: Kept, content: bytes) -> None:
        """A file or a link, whole, in the place of what is there. Missing folders are made."""
        where, name = split(path)
        with opened(self._folder, where, make=True) as parent:
            before = self._check(parent, name, path)
            if before is not None and stat.S_ISDIR(before.st_mode):
                os.rmdir(name, dir_fd=parent)
                before = None
            beside = f".treadle-{os.urandom(8).hex()}"
            try:
                _write(parent, beside, kept.mode, content, before)
                os.rename(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=parent)
                raise

    def _check(self, parent: int, name: str, path: str) -> os.stat_result | None:
        """What is there, if that is what was there a moment ago, or a folder."""
        try:
            now = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            now = None
        if now is not None and stat.S_ISDIR(now.st_mode):
            return now
        before = self._stamps.get(path)
        if now is not None and before is None:
            raise OSError(errno.EEXIST, "Something is there")
        if (now and stamp_of(now)) != before:
            raise OSError(errno.ESTALE, "Changed meanwhile")
        return now


def _write(parent: int, name: str, mode: str, content: bytes, before: os.stat_result | None) -> None:
    if mode == LINK:
        return os.symlink(os.fsdecode(content), name, dir_fd=parent)
    with os.fdopen(os.open(name, _NEW, 0o666, dir_fd=parent), "wb") as file:
        file.write(content)
        usual = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if before is not None and stat.S_ISREG(before.st_mode):
            usual = stat.S_IMODE(before.st_mode) & 0o777
            with suppress(PermissionError):  # the owner, where that is ours to give
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
        os.fchmod(file.fileno(), usual | (usual & 0o444) >> 2 if mode == PROGRAM else usual & ~0o111)
    return None
