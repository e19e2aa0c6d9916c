"""A folder put back to a checkpoint: exactly the files that differ, once it is sure that nobody else's changes are among them."""

import errno
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from treadle.toolsets.checkpoints.compare import differing, folders_of
from treadle.toolsets.checkpoints.objects import Reader
from treadle.toolsets.checkpoints.place import Place
from treadle.toolsets.checkpoints.session import Now, Session
from treadle.toolsets.checkpoints.values import Change, ChangedSince, Checkpoint, CheckpointsError, Kept, Kind, NotPutBack

_IN_THE_WAY = (errno.ELOOP, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR)


def put_back(
    session: Session, folder: Path, target: Checkpoint, expected: str, *, paths: Collection[str] | None, force: bool
) -> tuple[Change, ...]:
    """What was changed in the folder to make it what it was at the target. Raises `ChangedSince` before, `NotPutBack` after."""
    wanted = session.state(target.id)
    then = session.state(expected) if expected else {}
    now = session.now({*wanted, *then})
    there = now.found.kept
    differ = differing(there, wanted) - session.unknown(wanted, there)
    if expected:  # what didn't change between the two is somebody else's
        differ &= differing(then, wanted)
    if paths is not None:
        differ &= {*paths}
    lost = differ & {*now.left_out, *target.left_out}
    foreign = [path for path in sorted(differ - lost) if then.get(path) != there.get(path)]
    if expected and foreign and not force:
        raise ChangedSince(foreign)
    session.add(now, f"before going back to {target.label or target.id[:12]}")
    reasons = dict.fromkeys(sorted(lost), "not kept")
    done = _Undoing(session, folder, now, wanted, reasons).carry_out(differ - lost)
    if reasons:
        raise NotPutBack(reasons, done)
    return done


class _Undoing:
    """The changes themselves: first what has to go, then what has to come back."""

    def __init__(self, session: Session, folder: Path, now: Now, wanted: Mapping[str, Kept], reasons: dict[str, str]) -> None:
        self._session = session
        self._place = Place(folder, now.found.stamps)
        self._there = now.found.kept
        self._wanted = wanted
        self._reasons = reasons
        self._done: list[Change] = []

    def carry_out(self, paths: set[str]) -> tuple[Change, ...]:
        """All of it; what can't be done gets its reason."""
        gone = sorted(paths - self._wanted.keys())
        for path in gone:
            self._try(self._place.remove, path, "deleted")
        self._place.prune(folders_of(gone) - folders_of(self._wanted))
        with Reader(self._session.git) as reader:
            for path in sorted(paths & self._wanted.keys()):
                self._try(partial(self._put, reader), path, "modified" if path in self._there else "added")
        return tuple(sorted(self._done, key=lambda change: change.path))

    def _put(self, reader: Reader, path: str) -> None:
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
            self._done.append(Change(path, kind))
