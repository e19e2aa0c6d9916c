"""A checkpoint, a change, and what can go wrong. Values only.

CheckpointsError
├── CheckpointsMissing   there is no git
├── NoCheckpoint         no checkpoint by that id
├── ChangedSince         somebody else changed files meanwhile; nothing was touched
└── NotPutBack           files that could not be put back; all others were
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from treadle.core.errors import TreadleError

Kind = Literal["added", "modified", "deleted", "renamed"]
Stamp = tuple[int, int, int, int, int]  # mode, size, modified, changed, number: the same for as long as nobody writes

_SHOWN = 5


class Checkpoint(Struct, frozen=True):
    """A state of the folder. `changed` counts the files that differ from the one before.

    `left_out` names what was there and isn't kept: files that are too large or can't be read, and repositories inside (`sub/`).
    """

    id: str
    label: str
    at: float
    changed: int
    left_out: tuple[str, ...] = ()


class Change(Struct, frozen=True):
    """A file that differs between two states. `was` is the path before, of one that was renamed."""

    path: str
    kind: Kind
    was: str = ""


class Kept(Struct, frozen=True):
    """A file in a state, as git knows it."""

    mode: str
    oid: str


class CheckpointsError(TreadleError):
    """A checkpoint can't be taken, read or put back."""


class CheckpointsMissing(CheckpointsError):
    """There is no git to keep them."""


class NoCheckpoint(CheckpointsError):
    """No checkpoint by that id."""


class ChangedSince(CheckpointsError):
    """Somebody else changed files meanwhile; nothing was touched."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(
            f"Somebody changed {listed(paths)} meanwhile, so nothing was put back. Keep those changes elsewhere, or force it."
        )


class NotPutBack(CheckpointsError):
    """Files that could not be put back, and why; `done` is what was."""

    def __init__(self, reasons: dict[str, str], done: Sequence[Change]) -> None:
        self.reasons = reasons
        self.paths = tuple(reasons)
        self.done = tuple(done)
        why = ", ".join(dict.fromkeys(reasons.values()))
        super().__init__(f"Everything was put back but {listed(self.paths)} ({why}). Look at what is there now, and decide.")


def listed(paths: Sequence[str]) -> str:
    """Some names for a sentence."""
    names = [path if path.isprintable() else ascii(path) for path in paths[:_SHOWN]]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
