"""Checkpoints: the states of a folder, kept elsewhere, so that what a job changed there can be shown and undone.

They are kept by git, in a store of ours, whether the folder is a repository or not. Nothing in the folder decides what git does
here, and git writes nothing to the folder.
"""

from treadle.toolsets.checkpoints.checkpoints import Checkpoints
from treadle.toolsets.checkpoints.values import (
    Change,
    ChangedSince,
    Checkpoint,
    CheckpointsError,
    CheckpointsMissing,
    NoCheckpoint,
    NotPutBack,
)

__all__ = [
    "Change",
    "ChangedSince",
    "Checkpoint",
    "Checkpoints",
    "CheckpointsError",
    "CheckpointsMissing",
    "NoCheckpoint",
    "NotPutBack",
]
