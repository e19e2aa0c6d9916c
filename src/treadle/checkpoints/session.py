"""A session with a checkpoint store: scans the folder and reads stored states. Lasts as long as the store's lock."""

import time
from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct

from treadle.checkpoints.git_runner import GitRunner
from treadle.checkpoints.listing import IGNORE_FILE, FileListing
from treadle.checkpoints.objects import ObjectReader, ObjectWriter, find_differing, read_state
from treadle.checkpoints.scan import LINK, CheckpointScan, ScanResult, split_path
from treadle.checkpoints.store import CheckpointStore, Seen
from treadle.checkpoints.values import Checkpoint, CheckpointsError, StoredFile


class FolderState(Struct, frozen=True):
    """The current state of the folder: stored, but no checkpoint yet unless nothing changed since the last one."""

    id: str
    found: ScanResult
    changed: int
    left_out: tuple[str, ...]


class StoreSession:
    """Operations that need exclusive access to the store."""

    def __init__(self, store: CheckpointStore, git: GitRunner, lock: int, most: int) -> None:
        self.git = git
        self._store = store
        self._lock = lock
        self._most = most
        self._listing = FileListing(git, store.folder)
        self.state = cache(self._read_state)

    def _read_state(self, checkpoint: str) -> dict[str, StoredFile]:
        """Return all files of a checkpoint by path."""
        return read_state(self.git, checkpoint)

    def now(self, also: Iterable[str] = ()) -> FolderState:
        """Return the current state of the folder. Files stored before and `also` belong to it, even if they are ignored by now."""
        names, inner = self._listing.names()
        last = self._last_id()
        paths = {*names, *(self.state(last) if last else ()), *also}
        try:
            return self._write_state(last, paths, inner, self._store.seen())
        except CheckpointsError:  # what is remembered may not be there any more
            return self._write_state(last, paths, inner, {})

    def _last_id(self) -> str:
        checkpoints = self._store.checkpoints()
        return checkpoints[-1].id if checkpoints else ""

    def _write_state(self, last: str, paths: Iterable[str], inner: Iterable[str], seen: Seen) -> FolderState:
        before = self.state(last) if last else {}
        known = {kept.oid for kept in before.values()} | {oid for _, oid in seen.values()}
        with ObjectWriter(self.git, self._lock) as writer:
            found = CheckpointScan(self._store.folder, seen, known, self._most, writer.blob).look(paths)
            changed = find_differing(before, found.kept)
            if changed or not last:
                put = {path: kept for path, kept in found.kept.items() if path in changed}
                last = writer.commit(last, changed - put.keys(), put)
        if found.seen != seen:
            self._store.remember(found.seen)
        return FolderState(last, found, len(changed), tuple(sorted({*found.left_out, *inner})))

    def add(self, now: FolderState, label: str) -> str:
        """Make a checkpoint of the current state; return its ID, which is that of the last one where nothing changed."""
        if now.id != self._last_id():
            plain = label.encode(errors="replace").decode()
            self._store.add(Checkpoint(now.id, plain, time.time(), now.changed, now.left_out))
        return now.id

    def find_unrecorded(self, since: Mapping[str, StoredFile], until: Mapping[str, StoredFile]) -> set[str]:
        """Return the paths of a later state that the earlier one has no record of, because they were ignored then."""
        added = until.keys() - since.keys()
        if not added:
            return set()
        with ObjectReader(self.git) as reader:
            rules = {
                path: reader.content(kept.oid)
                for path, kept in since.items()
                if split_path(path)[1] == IGNORE_FILE and kept.mode != LINK
            }
        return self._listing.find_ignored(sorted(added), rules)
