"""Checkpoints: snapshots of a folder, stored elsewhere, so that a job's changes can be shown and undone.

They are stored by git, in our own repository, whether the folder is a repository or not. Nothing in the folder decides what
git does here, and git writes nothing to the folder.
"""

from treadle.checkpoints.checkpoints import Checkpoints
from treadle.checkpoints.values import (
    ChangedSince,
    Checkpoint,
    CheckpointChange,
    CheckpointsError,
    CheckpointsMissing,
    NoCheckpoint,
    NotRestored,
)

__all__ = [
    "ChangedSince",
    "Checkpoint",
    "CheckpointChange",
    "Checkpoints",
    "CheckpointsError",
    "CheckpointsMissing",
    "NoCheckpoint",
    "NotRestored",
]
