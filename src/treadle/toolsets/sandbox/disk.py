"""How much a command adds to the disk. The file system is asked every moment; the workspace is looked through when that grew much.

A file system is everybody's, so that it grew isn't yet the command's doing. Where it grew by twice what is allowed, nobody looks
any more: a file that has no name can't be found, and takes space all the same.
"""

import os
import time
from pathlib import Path

from treadle.toolsets.sandbox.residue import SLACK
from treadle.toolsets.sandbox.walk import folders

RESERVE = 512 << 20  # bytes that others are left
LEAST = 64 << 20  # bytes that are nothing to speak of
MOST_FILES = 500_000


class Disk:
    """The disk of a workspace since a command began, which may add so many bytes to it."""

    def __init__(self, workspace: Path, most: int) -> None:
        self._workspace = workspace
        self._most = most
        self._since = time.time_ns() - SLACK
        self._free, self._files = _free(workspace)

    def is_suspect(self) -> bool:
        """Whether it is worth looking. Quick."""
        free, files = _free(self._workspace)
        return self._free - free > self._allowed(free) or self._files - files > MOST_FILES

    def is_exceeded(self) -> bool:
        """Whether the command has added too much. Looks through the workspace, which takes its time."""
        free, files = _free(self._workspace)
        allowed = self._allowed(free)
        if self._free - free > 2 * allowed or self._files - files > 2 * MOST_FILES:
            return True
        size, count = written(self._workspace, self._since)
        return size > allowed or count > MOST_FILES

    def _allowed(self, free: int) -> int:
        return self._most if free > RESERVE else min(self._most, LEAST)


def written(workspace: Path, since: int) -> tuple[int, int]:
    """How many bytes files have that changed since, in nanoseconds, and how many files those are."""
    size = count = 0
    for folder in folders(workspace):
        for name in folder.files:
            try:
                known = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
            except OSError:
                continue
            if known.st_ctime_ns >= since:
                size += known.st_blocks * 512
                count += 1
    return size, count


def _free(workspace: Path) -> tuple[int, int]:
    """Bytes and files that there is room for; nothing of either where the workspace is gone."""
    try:
        found = os.statvfs(workspace)
    except OSError:
        return 0, 0
    return found.f_bavail * found.f_frsize, found.f_ffree
