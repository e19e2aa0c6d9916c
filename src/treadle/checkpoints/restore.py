"""Restores a folder to a checkpoint: exactly the files that differ, after making sure that no other changes are among them.

Follows no symlink, and touches nothing that has changed since it was scanned.
"""

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from treadle.checkpoints.objects import ObjectReader, find_differing, parent_folders
from treadle.checkpoints.scan import LINK, PROGRAM, open_beneath, split_path, stamp_of
from treadle.checkpoints.session import FolderState, StoreSession
from treadle.checkpoints.values import (
    ChangedSince,
    Checkpoint,
    CheckpointChange,
    CheckpointsError,
    Kind,
    NotRestored,
    Stamp,
    StoredFile,
)

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderWriter:
    """A folder, and the stamps of its files from a moment ago."""

    def __init__(self, folder: Path, stamps: Mapping[str, Stamp]) -> None:
        self._folder = folder
        self._stamps = stamps

    def remove(self, path: str) -> None:
        """Remove a file or a link."""
        where, name = split_path(path)
        with open_beneath(self._folder, where) as parent:
            self._check_unchanged(parent, name, path)
            os.unlink(name, dir_fd=parent)

    def prune(self, folders: Iterable[str]) -> None:
        """Remove those of these folders that have become empty, and their parents, if they have."""
        for where in sorted({*folders}, key=lambda folder: folder.count("/"), reverse=True):
            above, name = split_path(where)
            with suppress(OSError), open_beneath(self._folder, above) as parent:
                os.rmdir(name, dir_fd=parent)

    def put(self, path: str, kept: StoredFile, content: bytes) -> None:
        """Write a file or a link as a whole, replacing what is there. Missing folders are created."""
        where, name = split_path(path)
        with open_beneath(self._folder, where, make=True) as parent:
            before = self._check_unchanged(parent, name, path)
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

    def _check_unchanged(self, parent: int, name: str, path: str) -> os.stat_result | None:
        """Return the stat of what is there, if it is unchanged since the scan, or a folder."""
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


_IN_THE_WAY = (errno.ELOOP, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR)


def restore_folder(
    session: StoreSession, folder: Path, target: Checkpoint, expected: str, *, paths: Collection[str] | None, force: bool
) -> tuple[CheckpointChange, ...]:
    """Restore the folder to the target and return the changes. Raises `ChangedSince` before any change, `NotRestored` after."""
    wanted = session.state(target.id)
    then = session.state(expected) if expected else {}
    now = session.now({*wanted, *then})
    there = now.found.kept
    differ = find_differing(there, wanted) - session.find_unrecorded(wanted, there)
    if expected:  # what didn't change between the two isn't ours
        differ &= find_differing(then, wanted)
    if paths is not None:
        differ &= {*paths}
    lost = differ & {*now.left_out, *target.left_out}
    foreign = [path for path in sorted(differ - lost) if then.get(path) != there.get(path)]
    if expected and foreign and not force:
        raise ChangedSince(foreign)
    session.add(now, f"before going back to {target.label or target.id[:12]}")
    reasons = dict.fromkeys(sorted(lost), "not kept")
    done = _Restoration(session, folder, now, wanted, reasons).carry_out(differ - lost)
    if reasons:
        raise NotRestored(reasons, done)
    return done


class _Restoration:
    """The changes themselves: first the removals, then the files to write."""

    def __init__(
        self, session: StoreSession, folder: Path, now: FolderState, wanted: Mapping[str, StoredFile], reasons: dict[str, str]
    ) -> None:
        self._session = session
        self._place = FolderWriter(folder, now.found.stamps)
        self._there = now.found.kept
        self._wanted = wanted
        self._reasons = reasons
        self._done: list[CheckpointChange] = []

    def carry_out(self, paths: set[str]) -> tuple[CheckpointChange, ...]:
        """Apply all changes; record a reason for each that fails."""
        gone = sorted(paths - self._wanted.keys())
        for path in gone:
            self._try(self._place.remove, path, "deleted")
        self._place.prune(parent_folders(gone) - parent_folders(self._wanted))
        with ObjectReader(self._session.git) as reader:
            for path in sorted(paths & self._wanted.keys()):
                self._try(partial(self._put, reader), path, "modified" if path in self._there else "added")
        return tuple(sorted(self._done, key=lambda change: change.path))

    def _put(self, reader: ObjectReader, path: str) -> None:
        kept = self._wanted[path]
        self._place.put(path, kept, reader.content(kept.oid))

    def _try(self, act: Callable[[str], None], path: str, kind: Kind) -> None:
        try:
            act(path)
        except OSError as error:
            self._reasons[path] = "something is in the way" if error.errno in _IN_THE_WAY else str(error.strerror).lower()
        except CheckpointsError as error:
            self._reasons[path] = str(error)
        else:
            self._done.append(CheckpointChange(path, kind))
