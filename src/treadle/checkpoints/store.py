"""Store of checkpoints: a bare repository, the list of them, and a cache of file stamps. For one folder alone.

One process at a time works here, by a lock that the system releases when its holder dies. Files are replaced atomically;
what a killed process left behind is removed by the next one.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle.checkpoints.git_runner import GitRunner, find_git
from treadle.checkpoints.values import Checkpoint, CheckpointsError, NoCheckpoint, Stamp

LOCK_TIMEOUT = 600.0  # seconds until a lock is given up
_POLL_SECONDS = 0.02
_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding !diff !merge\n"  # stronger than those of any folder

Seen = dict[str, tuple[Stamp, str]]


class _StoredCheckpoint(Struct, frozen=True):
    """A checkpoint in the list. File names are bytes."""

    id: str
    label: str
    at: float
    changed: int
    left_out: tuple[bytes, ...] = ()


class CheckpointStore:
    """The store of one folder."""

    def __init__(self, path: Path, folder: Path, owner: Path | None = None) -> None:
        self.path = path
        self.folder = folder
        self._owner = owner or folder  # whose states are kept here
        self._list = path / "checkpoints.json"
        self._seen = path / "seen"
        if path.is_relative_to(folder) or folder.is_relative_to(path):
            raise CheckpointsError(f"The states of {folder} can't be kept in {path}: one lies in the other. Name another place.")

    @contextmanager
    def lock(self) -> Generator[tuple[GitRunner, int]]:
        """Yield the store's git under an exclusive lock, and the lock's descriptor for child processes that must hold it too."""
        program = find_git(self.folder)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CheckpointsError(f"{self.path} can't be written: {error.strerror}. Make it writable.") from error
        try:
            self._wait_for(lock)
            self._remove_leftovers()
            yield self._open_repository(program), lock
        finally:
            os.close(lock)

    def _wait_for(self, lock: int) -> None:
        until = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise CheckpointsError(f"Another process has been working in {self.path} for too long.") from error
            time.sleep(_POLL_SECONDS)

    def _remove_leftovers(self) -> None:
        """Remove what a killed process left; this process has the lock."""
        git = self.path / "git"
        left = [*self.path.glob("*.new"), *git.glob("fast_import_crash_*"), *git.glob("*.lock"), *git.glob("refs/**/*.lock")]
        for path in (*left, *git.glob("objects/pack/tmp_*"), *git.glob("objects/pack/*.keep"), *git.glob("objects/??/tmp_*")):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _open_repository(self, program: Path) -> GitRunner:
        git = GitRunner(program, self.path / "git")
        if not git.repository.exists():
            fresh = GitRunner(program, self.path / "git.new")
            fresh.run("init", "--quiet", "--bare", "--template=", str(fresh.repository), cwd=self.path)
            (fresh.repository / "info").mkdir(exist_ok=True)
            (fresh.repository / "info" / "attributes").write_text(_ATTRIBUTES)
            (fresh.repository / "folder").write_bytes(os.fsencode(self._owner))
            fresh.repository.rename(git.repository)
        owner = os.fsdecode((git.repository / "folder").read_bytes())
        if owner != str(self._owner):
            raise CheckpointsError(f"{self.path} keeps the states of {owner}, not of {self._owner}. Name another place.")
        return git

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""
        try:
            lines = msgspec.json.decode(self._list.read_bytes(), type=list[_StoredCheckpoint])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CheckpointsError(f"{self._list} can't be read: {error}") from error
        return [
            Checkpoint(line.id, line.label, line.at, line.changed, tuple(os.fsdecode(path) for path in line.left_out))
            for line in lines
        ]

    def checkpoint(self, wanted: str) -> Checkpoint:
        """Return the checkpoint with this ID."""
        for checkpoint in self.checkpoints():
            if checkpoint.id == wanted:
                return checkpoint
        raise NoCheckpoint(f"There is no checkpoint {wanted!r} of {self.folder}.")

    def add(self, checkpoint: Checkpoint) -> None:
        """Append a checkpoint to the list."""
        lines = [_to_stored(each) for each in (*self.checkpoints(), checkpoint)]
        self._replace(self._list, msgspec.json.encode(lines), lasting=True)

    def seen(self) -> Seen:
        """Return files by their stamps, so that unchanged ones aren't read again. An unreadable cache counts as empty."""
        try:
            known = msgspec.msgpack.decode(self._seen.read_bytes(), type=list[tuple[bytes, Stamp, str]])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return {os.fsdecode(path): (stamp, oid) for path, stamp, oid in known}

    def remember(self, seen: Seen) -> None:
        """Save the cache of file stamps."""
        known: Sequence[tuple[bytes, Stamp, str]] = [(os.fsencode(path), stamp, oid) for path, (stamp, oid) in seen.items()]
        self._replace(self._seen, msgspec.msgpack.encode(known), lasting=False)

    def _replace(self, path: Path, data: bytes, *, lasting: bool) -> None:
        fresh = path.with_name(f"{path.name}.new")
        try:
            with fresh.open("wb") as file:
                file.write(data)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            fresh.replace(path)
        except OSError as error:
            raise CheckpointsError(f"{path} can't be written: {error.strerror}. Make room, or make it writable.") from error


def _to_stored(checkpoint: Checkpoint) -> _StoredCheckpoint:
    left_out = tuple(os.fsencode(path) for path in checkpoint.left_out)
    return _StoredCheckpoint(checkpoint.id, checkpoint.label, checkpoint.at, checkpoint.changed, left_out)
