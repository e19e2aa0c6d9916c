"""`Checkpoints`: the states of one folder, taken, listed, compared and restored. Each operation holds the store's lock.

What is ignored there, too large or unreadable isn't stored, so it is never touched either.
"""

import asyncio
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from treadle.checkpoints.objects import build_patch, list_changes
from treadle.checkpoints.restore import restore_folder
from treadle.checkpoints.session import StoreSession
from treadle.checkpoints.store import CheckpointStore
from treadle.checkpoints.values import Checkpoint, CheckpointChange

MAX_BYTES = 10_000_000


class Checkpoints:
    """The states of a folder. `store` is a folder for them alone, outside of it; files of more than `most` bytes are left out.

    `owner` is the folder whose states the store holds, where `folder` is another checkout of the same files. A folder that no
    longer exists has the states that were stored.
    """

    def __init__(self, folder: str | Path, store: str | Path, *, most: int = MAX_BYTES, owner: Path | None = None) -> None:
        self.folder = Path(folder).resolve()
        self._store = CheckpointStore(Path(store).resolve(), self.folder, owner and owner.resolve())
        self._most = most

    async def take(self, label: str = "") -> str:
        """Store the folder as it is and return the checkpoint's ID, which is the last one's if nothing has changed since."""
        return await asyncio.to_thread(self._take, label)

    async def list(self) -> list[Checkpoint]:
        """Return all checkpoints, oldest first."""
        return await asyncio.to_thread(self._store.checkpoints)

    async def changes(self, since: str, until: str | None = None) -> tuple[CheckpointChange, ...]:
        """Return the files that changed between two checkpoints, or since one until now."""
        return await asyncio.to_thread(self._changes, since, until)

    async def diff(self, since: str, until: str | None = None, paths: Sequence[str] = ()) -> str:
        """Return the changes as a unified diff, of some paths or all. Its length is unlimited; shorten it for a model."""
        return (await asyncio.to_thread(self._diff, since, until, tuple(paths))).decode(errors="replace")

    async def patch(self, since: str, until: str | None = None, paths: Sequence[str] = ()) -> bytes:
        """Return the changes byte for byte and with binary files, so that `git apply` accepts it."""
        return await asyncio.to_thread(self._diff, since, until, tuple(paths), whole=True)

    async def restore(
        self,
        id: str,  # noqa: A002 - as ids are called everywhere
        *,
        expected: str | None = None,
        paths: Collection[str] | None = None,
        force: bool = False,
    ) -> tuple[CheckpointChange, ...]:
        """Restore the folder and return the files that changed by that. The state before becomes a checkpoint itself.

        With `expected`, only what changed between the two checkpoints is restored, and only if it is still as it was at that one:
        where something else has changed it since, nothing is touched and `ChangedSince` is raised, unless `force`. With `paths`, no
        others are touched. Files that can't be restored are named by `NotRestored`.
        """
        return await asyncio.to_thread(self._restore, id, expected, paths, force)

    @contextmanager
    def _session(self) -> Generator[StoreSession]:
        with self._store.lock() as (git, lock):
            yield StoreSession(self._store, git, lock, self._most)

    def _take(self, label: str) -> str:
        with self._session() as session:
            return session.add(session.now(), label)

    def _changes(self, since: str, until: str | None) -> tuple[CheckpointChange, ...]:
        with self._session() as session:
            return self._compare(session, since, until)[1]

    def _compare(self, session: StoreSession, since: str, until: str | None) -> tuple[str, tuple[CheckpointChange, ...], bool]:
        """Return the later state, the changes, and whether there are more that the earlier one has no record of."""
        before = session.state(self._store.checkpoint(since).id)
        if until is None:
            now = session.now(before)
            later, after = now.id, now.found.kept
        else:
            later = self._store.checkpoint(until).id
            after = session.state(later)
        unknown = session.find_unrecorded(before, after)
        changes = list_changes(session.git, since, later)
        told = tuple(change for change in changes if change.kind != "added" or change.path not in unknown)
        return later, told, len(told) < len(changes)

    def _diff(self, since: str, until: str | None, paths: tuple[str, ...], *, whole: bool = False) -> bytes:
        with self._session() as session:
            later, changes, more = self._compare(session, since, until)
            if more and not paths:
                paths = tuple(path for change in changes for path in (change.path, change.was) if path)
            return build_patch(session.git, since, later, paths, whole=whole) if changes or paths else b""

    def _restore(
        self, wanted: str, expected: str | None, paths: Collection[str] | None, force: bool
    ) -> tuple[CheckpointChange, ...]:
        target = self._store.checkpoint(wanted)
        then = self._store.checkpoint(expected).id if expected else ""
        with self._session() as session:
            return restore_folder(session, self.folder, target, then, paths=paths, force=force)
