"""A checkpoint, a change, and the errors. Values only.

CheckpointsError
├── CheckpointsMissing   git isn't installed
├── NoCheckpoint         no checkpoint with that ID
├── ChangedSince         files changed meanwhile by something else; nothing was touched
└── NotRestored          files that could not be restored; all others were
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from treadle.core.errors import TreadleError

Kind = Literal["added", "modified", "deleted", "renamed"]
Stamp = tuple[int, int, int, int, int]  # mode, size, modified, changed, number: the same until the file is written

_MAX_SHOWN = 5


class Checkpoint(Struct, frozen=True):
    """A state of the folder. `changed` counts the files that differ from the one before.

    `left_out` names what was there and isn't stored: files that are too large or unreadable, and nested repositories (`sub/`).
    """

    id: str
    label: str
    at: float
    changed: int
    left_out: tuple[str, ...] = ()


class CheckpointChange(Struct, frozen=True):
    """A file that differs between two states. `was` is the previous path of a renamed file."""

    path: str
    kind: Kind
    was: str = ""


class StoredFile(Struct, frozen=True):
    """A file in a state, as git knows it."""

    mode: str
    oid: str


class CheckpointsError(TreadleError):
    """A checkpoint can't be taken, read or restored."""


class CheckpointsMissing(CheckpointsError):
    """Git, which stores the checkpoints, isn't installed."""


class NoCheckpoint(CheckpointsError):
    """No checkpoint has that ID."""


class ChangedSince(CheckpointsError):
    """Files were changed meanwhile by something else; nothing was touched."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(
            f"Another process changed {join_names(paths)}, so nothing was put back. Save those changes elsewhere, or force it."
        )


class NotRestored(CheckpointsError):
    """Files that could not be restored, and why; `done` lists those that were."""

    def __init__(self, reasons: dict[str, str], done: Sequence[CheckpointChange]) -> None:
        self.reasons = reasons
        self.paths = tuple(reasons)
        self.done = tuple(done)
        why = ", ".join(dict.fromkeys(reasons.values()))
        super().__init__(f"Everything was put back but {join_names(self.paths)} ({why}). Look at what is there now, and decide.")


def join_names(paths: Sequence[str]) -> str:
    """Join some names for a sentence."""
    names = [path if path.isprintable() else ascii(path) for path in paths[:_MAX_SHOWN]]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
