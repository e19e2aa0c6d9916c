"""Scan of a folder: every named file is checked, and read only if it may have changed. Follows no symlink.

Files are stored as they are on disk, byte by byte. One that can't be stored is replaced by a line about it that changes
whenever the file does.

Folders are opened part by part and never through a symlink, not even one that was swapped in a moment ago.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha1
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from treadle.checkpoints.store import Seen
from treadle.checkpoints.values import CheckpointsError, Stamp, StoredFile
from treadle.core.regular_files import open_regular

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_beneath(root: Path, where: str, *, make: bool = False) -> Generator[int]:
    """Yield a folder's descriptor; `where` is relative, and empty for the root itself. `make` creates missing folders."""
    here = os.open(root, _FOLDER)
    try:
        for part in where.split("/") if where else ():
            there = _open_child(here, part, make=make)
            os.close(here)
            here = there
        yield here
    finally:
        os.close(here)


def _open_child(here: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(part, dir_fd=here)
    return os.open(part, _FOLDER, dir_fd=here)


def split_path(path: str) -> tuple[str, str]:
    """Return the folder of a path and its name there."""
    folder, _, name = path.rpartition("/")
    return folder, name


FILE, PROGRAM, LINK = "100644", "100755", "120000"

_SETTLED = 2_000_000_000  # nanoseconds after which a stamp tells one state of a file from the next

Send = Callable[[bytes], None]


class ScanResult(Struct, frozen=True):
    """Result of a scan: files as git knows them, their stamps, and those of which only the stamp is known."""

    kept: dict[str, StoredFile] = {}
    stamps: dict[str, Stamp] = {}
    left_out: set[str] = set()
    seen: Seen = {}


class CheckpointScan:
    """One scan of a folder. `known` are contents that are in the store already; others are sent there."""

    def __init__(self, folder: Path, seen: Seen, known: Collection[str], most: int, send: Send) -> None:
        self._folder = folder
        self._seen = seen
        self._known = set(known)
        self._most = most
        self._send = send
        self._begun = time.time_ns()
        self._found = ScanResult({}, {}, set(), {})

    def look(self, paths: Iterable[str]) -> ScanResult:
        """Scan all of these paths that exist. Raises `CheckpointsError` if the folder itself is missing, and not merely empty."""
        try:
            with open_beneath(self._folder, ""):
                pass
        except OSError as error:
            raise CheckpointsError(f"{self._folder} can't be opened: {error.strerror}.") from error
        for where, group in groupby(sorted(map(split_path, paths)), key=lambda pair: pair[0]):
            self._scan_folder(where, [(name, f"{where}/{name}" if where else name) for _, name in group])
        return self._found

    def _scan_folder(self, where: str, names: list[tuple[str, str]]) -> None:
        with ExitStack() as stack:
            try:
                parent = stack.enter_context(open_beneath(self._folder, where))
            except PermissionError:
                for _, path in names:
                    self._leave_out(path, None)
                return
            except OSError:  # no such folder, or a file or a link in its place
                return
            for name, path in names:
                self._scan_entry(parent, name, path)

    def _scan_entry(self, parent: int, name: str, path: str) -> None:
        try:
            known = os.stat(name, dir_fd=parent, follow_symlinks=False)
            link = os.fsencode(os.readlink(name, dir_fd=parent)) if stat.S_ISLNK(known.st_mode) else None
        except PermissionError:
            return self._leave_out(path, None)
        except OSError:  # gone, perhaps a moment ago
            return None
        if link is not None:
            return self._keep(path, LINK, stamp_of(known), link)
        return self._scan_file(parent, name, path, stamp_of(known)) if stat.S_ISREG(known.st_mode) else None

    def _scan_file(self, parent: int, name: str, path: str, stamp: Stamp) -> None:
        before, oid = self._seen.get(path, (None, ""))
        if before == stamp:
            return self._record(path, _file_mode(stamp), stamp, oid)
        data = _read_content(parent, name, self._most) if stamp[1] <= self._most else None
        if data is None:
            return self._leave_out(path, stamp)
        return self._keep(path, _file_mode(stamp), stamp, data)

    def _keep(self, path: str, mode: str, stamp: Stamp, data: bytes) -> None:
        oid = sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if oid not in self._known:
            self._send(data)
            self._known.add(oid)
        self._record(path, mode, stamp, oid)

    def _record(self, path: str, mode: str, stamp: Stamp, oid: str) -> None:
        self._found.kept[path] = StoredFile(mode, oid)
        self._found.stamps[path] = stamp
        if mode != LINK and stamp[3] < self._begun - _SETTLED:
            self._found.seen[path] = (stamp, oid)

    def _leave_out(self, path: str, stamp: Stamp | None) -> None:
        """Record a line instead of the file: the same for as long as the file is, and unlike that of any other."""
        words = "it can't be looked at" if stamp is None else f"{stamp[1]:,} bytes, {stamp[2]:x}-{stamp[4]:x}"
        self._keep(path, FILE, stamp or (0, 0, 0, 0, 0), f"[not kept: {words}]\n".encode())
        self._found.left_out.add(path)
        self._found.seen.pop(path, None)


def stamp_of(known: os.stat_result) -> Stamp:
    """Return what distinguishes one state of a file from the next without reading it."""
    return known.st_mode, known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino


def _file_mode(stamp: Stamp) -> str:
    return PROGRAM if stamp[0] & stat.S_IXUSR else FILE


def _read_content(parent: int, name: str, most: int) -> bytes | None:
    """Return all of a file; None where it can't be read or has grown too large."""
    try:
        descriptor = open_regular(name, lambda path, flags: os.open(path, flags | os.O_NOFOLLOW, dir_fd=parent))
    except OSError:
        return None
    with suppress(OSError), os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1)
        return data if len(data) <= most else None
    return None
