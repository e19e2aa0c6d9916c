"""`Checkpoints`: the states of one folder, taken, listed, compared and put back. Each is one piece of work under the store's lock.

What is ignored there, what is too large and what can't be read isn't kept, so it is never touched either.
"""

import asyncio
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from treadle.toolsets.checkpoints.compare import changes_between, patch_between
from treadle.toolsets.checkpoints.session import Session
from treadle.toolsets.checkpoints.store import Store
from treadle.toolsets.checkpoints.undo import put_back
from treadle.toolsets.checkpoints.values import Change, Checkpoint

MOST_BYTES = 10_000_000


class Checkpoints:
    """The states of a folder. `store` is a folder for them alone, outside of it; files of more than `most` bytes are left out.

    `owner` is the folder whose states the store keeps, where `folder` is another checkout of the same files. A folder that is gone
    has the states that were kept.
    """

    def __init__(self, folder: str | Path, store: str | Path, *, most: int = MOST_BYTES, owner: Path | None = None) -> None:
        self.folder = Path(folder).resolve()
        self._store = Store(Path(store).resolve(), self.folder, owner and owner.resolve())
        self._most = most

    async def take(self, label: str = "") -> str:
        """Keep the folder as it is; the id of that state, which is the last one's if nothing has changed since."""
        return await asyncio.to_thread(self._take, label)

    async def list(self) -> list[Checkpoint]:
        """All checkpoints, the oldest first."""
        return await asyncio.to_thread(self._store.checkpoints)

    async def changes(self, since: str, until: str | None = None) -> tuple[Change, ...]:
        """The files that changed between two checkpoints, or since one until now."""
        return await asyncio.to_thread(self._changes, since, until)

    async def diff(self, since: str, until: str | None = None, paths: Sequence[str] = ()) -> str:
        """The same as a unified diff, of some paths or of all. It is as long as it is; shorten it before a model reads it."""
        return (await asyncio.to_thread(self._diff, since, until, tuple(paths))).decode(errors="replace")

    async def patch(self, since: str, until: str | None = None, paths: Sequence[str] = ()) -> bytes:
        """The same, byte for byte and with what is no text, so that `git apply` takes it."""
        return await asyncio.to_thread(self._diff, since, until, tuple(paths), whole=True)

    async def restore(
        self,
        id: str,  # noqa: A002 - as ids are called everywhere
        *,
        expected: str | None = None,
        paths: Collection[str] | None = None,
        force: bool = False,
    ) -> tuple[Change, ...]:
        """Put the folder back as it was; which files that changed. What is there before becomes a checkpoint itself.

        With `expected`, only what changed between the two checkpoints is put back, and only if it is still like it was at that
        one: where somebody has changed it since, nothing is touched and `ChangedSince` is raised, unless `force`. With `paths`,
        no others are touched. Files that can't be put back are named by `NotPutBack`.
        """
        return await asyncio.to_thread(self._restore, id, expected, paths, force)

    @contextmanager
    def _session(self) -> Generator[Session]:
        with self._store.locked() as (git, lock):
            yield Session(self._store, git, lock, self._most)

    def _take(self, label: str) -> str:
        with self._session() as session:
            return session.add(session.now(), label)

    def _changes(self, since: str, until: str | None) -> tuple[Change, ...]:
        with self._session() as session:
            return self._compared(session, since, until)[1]

    def _compared(self, session: Session, since: str, until: str | None) -> tuple[str, tuple[Change, ...], bool]:
        """The later state, the changes, and whether there are more that the earlier one says nothing about."""
        before = session.state(self._store.checkpoint(since).id)
        if until is None:
            now = session.now(before)
            later, after = now.id, now.found.kept
        else:
            later = self._store.checkpoint(until).id
            after = session.state(later)
        unknown = session.unknown(before, after)
        changes = changes_between(session.git, since, later)
        told = tuple(change for change in changes if change.kind != "added" or change.path not in unknown)
        return later, told, len(told) < len(changes)

    def _diff(self, since: str, until: str | None, paths: tuple[str, ...], *, whole: bool = False) -> bytes:
        with self._session() as session:
            later, changes, more = self._compared(session, since, until)
            if more and not paths:
                paths = tuple(path for change in changes for path in (change.path, change.was) if path)
            return patch_between(session.git, since, later, paths, whole=whole) if changes or paths else b""

    def _restore(self, wanted: str, expected: str | None, paths: Collection[str] | None, force: bool) -> tuple[Change, ...]:
        target = self._store.checkpoint(wanted)
        then = self._store.checkpoint(expected).id if expected else ""
        with self._session() as session:
            return put_back(session, self.folder, target, then, paths=paths, force=force)
