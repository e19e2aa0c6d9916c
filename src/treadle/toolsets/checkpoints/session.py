"""One piece of work in a store: looks at the folder, and knows the states that are kept. Lasts as long as the store's lock."""

import time
from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct

from treadle.toolsets.checkpoints.compare import differing
from treadle.toolsets.checkpoints.folders import split
from treadle.toolsets.checkpoints.git import Git
from treadle.toolsets.checkpoints.listing import RULES, Listing
from treadle.toolsets.checkpoints.objects import Reader, Writer, state_of
from treadle.toolsets.checkpoints.scan import LINK, Found, Scan
from treadle.toolsets.checkpoints.store import Seen, Store
from treadle.toolsets.checkpoints.values import Checkpoint, CheckpointsError, Kept


class Now(Struct, frozen=True):
    """The folder as it is: a state that is kept, but no checkpoint yet unless nothing changed since the last one."""

    id: str
    found: Found
    changed: int
    left_out: tuple[str, ...]


class Session:
    """What can be done while nobody else works in the store."""

    def __init__(self, store: Store, git: Git, lock: int, most: int) -> None:
        self.git = git
        self._store = store
        self._lock = lock
        self._most = most
        self._listing = Listing(git, store.folder)
        self.state = cache(self._state)

    def _state(self, checkpoint: str) -> dict[str, Kept]:
        """All files of a checkpoint, by their paths."""
        return state_of(self.git, checkpoint)

    def now(self, also: Iterable[str] = ()) -> Now:
        """The folder as it is. What was kept before and `also` belong to it, even if they are ignored by now."""
        names, inner = self._listing.names()
        last = self._last()
        paths = {*names, *(self.state(last) if last else ()), *also}
        try:
            return self._written(last, paths, inner, self._store.seen())
        except CheckpointsError:  # what is remembered may not be there any more
            return self._written(last, paths, inner, {})

    def _last(self) -> str:
        checkpoints = self._store.checkpoints()
        return checkpoints[-1].id if checkpoints else ""

    def _written(self, last: str, paths: Iterable[str], inner: Iterable[str], seen: Seen) -> Now:
        before = self.state(last) if last else {}
        known = {kept.oid for kept in before.values()} | {oid for _, oid in seen.values()}
        with Writer(self.git, self._lock) as writer:
            found = Scan(self._store.folder, seen, known, self._most, writer.blob).look(paths)
            changed = differing(before, found.kept)
            if changed or not last:
                put = {path: kept for path, kept in found.kept.items() if path in changed}
                last = writer.commit(last, changed - put.keys(), put)
        if found.seen != seen:
            self._store.remember(found.seen)
        return Now(last, found, len(changed), tuple(sorted({*found.left_out, *inner})))

    def add(self, now: Now, label: str) -> str:
        """Make a checkpoint of the folder as it is; its id, which is that of the last one where nothing changed."""
        if now.id != self._last():
            plain = label.encode(errors="replace").decode()
            self._store.add(Checkpoint(now.id, plain, time.time(), now.changed, now.left_out))
        return now.id

    def unknown(self, since: Mapping[str, Kept], until: Mapping[str, Kept]) -> set[str]:
        """The paths of a later state that the earlier one says nothing about, because they were ignored then."""
        added = until.keys() - since.keys()
        if not added:
            return set()
        with Reader(self.git) as reader:
            rules = {
                path: reader.content(kept.oid) for path, kept in since.items() if split(path)[1] == RULES and kept.mode != LINK
            }
        return self._listing.ignored(sorted(added), rules)
