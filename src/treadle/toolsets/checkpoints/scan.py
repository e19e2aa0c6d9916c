"""What is in a folder now: every named file looked at, and read only if it may have changed. Follows no link.

Files are kept as they are on disk, byte by byte. One that can't be kept has a line about it in its place, by which one sees whether
it changed.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack, suppress
from hashlib import sha1
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from treadle.core.regular import open_regular
from treadle.toolsets.checkpoints.folders import opened, split
from treadle.toolsets.checkpoints.store import Seen
from treadle.toolsets.checkpoints.values import CheckpointsError, Kept, Stamp

FILE, PROGRAM, LINK = "100644", "100755", "120000"

_SETTLED = 2_000_000_000  # nanoseconds after which a stamp tells one state of a file from the next

Send = Callable[[bytes], None]


class Found(Struct, frozen=True):
    """What is there: files as git knows them, their stamps, and those of which only the stamp is known."""

    kept: dict[str, Kept] = {}
    stamps: dict[str, Stamp] = {}
    left_out: set[str] = set()
    seen: Seen = {}


class Scan:
    """One look at a folder. `known` are contents that are in the store already; others are sent there."""

    def __init__(self, folder: Path, seen: Seen, known: Collection[str], most: int, send: Send) -> None:
        self._folder = folder
        self._seen = seen
        self._known = set(known)
        self._most = most
        self._send = send
        self._begun = time.time_ns()
        self._found = Found({}, {}, set(), {})

    def look(self, paths: Iterable[str]) -> Found:
        """All of these that are there. Raises `CheckpointsError` where the folder itself isn't, so that it can't pass for empty."""
        try:
            with opened(self._folder, ""):
                pass
        except OSError as error:
            raise CheckpointsError(f"{self._folder} can't be opened: {error.strerror}.") from error
        for where, group in groupby(sorted(map(split, paths)), key=lambda pair: pair[0]):
            self._look_in(where, [(name, f"{where}/{name}" if where else name) for _, name in group])
        return self._found

    def _look_in(self, where: str, names: list[tuple[str, str]]) -> None:
        with ExitStack() as stack:
            try:
                parent = stack.enter_context(opened(self._folder, where))
            except PermissionError:
                for _, path in names:
                    self._leave_out(path, None)
                return
            except OSError:  # no such folder, or a file or a link in its place
                return
            for name, path in names:
                self._look_at(parent, name, path)

    def _look_at(self, parent: int, name: str, path: str) -> None:
        try:
            known = os.stat(name, dir_fd=parent, follow_symlinks=False)
            link = os.fsencode(os.readlink(name, dir_fd=parent)) if stat.S_ISLNK(known.st_mode) else None
        except PermissionError:
            return self._leave_out(path, None)
        except OSError:  # gone, perhaps a moment ago
            return None
        if link is not None:
            return self._keep(path, LINK, stamp_of(known), link)
        return self._look_at_file(parent, name, path, stamp_of(known)) if stat.S_ISREG(known.st_mode) else None

    def _look_at_file(self, parent: int, name: str, path: str, stamp: Stamp) -> None:
        before, oid = self._seen.get(path, (None, ""))
        if before == stamp:
            return self._note(path, _mode(stamp), stamp, oid)
        data = _content(parent, name, self._most) if stamp[1] <= self._most else None
        if data is None:
            return self._leave_out(path, stamp)
        return self._keep(path, _mode(stamp), stamp, data)

    def _keep(self, path: str, mode: str, stamp: Stamp, data: bytes) -> None:
        oid = sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if oid not in self._known:
            self._send(data)
            self._known.add(oid)
        self._note(path, mode, stamp, oid)

    def _note(self, path: str, mode: str, stamp: Stamp, oid: str) -> None:
        self._found.kept[path] = Kept(mode, oid)
        self._found.stamps[path] = stamp
        if mode != LINK and stamp[3] < self._begun - _SETTLED:
            self._found.seen[path] = (stamp, oid)

    def _leave_out(self, path: str, stamp: Stamp | None) -> None:
        """A line instead of the file: the same for as long as the file is, and unlike that of any other."""
        words = "it can't be looked at" if stamp is None else f"{stamp[1]:,} bytes, {stamp[2]:x}-{stamp[4]:x}"
        self._keep(path, FILE, stamp or (0, 0, 0, 0, 0), f"[not kept: {words}]\n".encode())
        self._found.left_out.add(path)
        self._found.seen.pop(path, None)


def stamp_of(known: os.stat_result) -> Stamp:
    """What tells one state of a file from the next without reading it."""
    return known.st_mode, known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino


def _mode(stamp: Stamp) -> str:
    return PROGRAM if stamp[0] & stat.S_IXUSR else FILE


def _content(parent: int, name: str, most: int) -> bytes | None:
    """All of a file; None where it can't be read or has grown too large."""
    try:
        descriptor = open_regular(name, lambda path, flags: os.open(path, flags | os.O_NOFOLLOW, dir_fd=parent))
    except OSError:
        return None
    with suppress(OSError), os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1)
        return data if len(data) <= most else None
    return None
