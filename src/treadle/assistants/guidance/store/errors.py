"""Exceptions of the project store; each message is a sentence for the user.

StoreError                the database can't be used
├── InvalidValue          a value that can't be stored; a ValueError too, so that decoding says where it is
├── ItemNotFound          nothing of that id, or nothing that this user may see
│   └── ProjectNotFound
├── NotProjectOwner       only the owner of a project may do this
├── ReadOnlyProject       a project that is shared with this user to read
└── VersionConflict       another user changed it first; `current` is the stored value
"""

from typing import TYPE_CHECKING

from treadle import TreadleError

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.values import ProblemSpec, Project, WorldModel


class StoreError(TreadleError):
    """The database of the projects can't be used."""


class InvalidValue(StoreError, ValueError):
    """A value that can't be stored."""


class ItemNotFound(StoreError):
    """Nothing of that id. Items of other users are reported as missing too."""


class ProjectNotFound(ItemNotFound):
    """No project of that id that this user may see."""


class NotProjectOwner(StoreError):
    """Only the owner of a project may do this."""


class ReadOnlyProject(StoreError):
    """A project that its owner shares with this user to read, not to change."""


class VersionConflict(StoreError):
    """Another user changed it after it was read. Nothing was written; `current` is the stored value."""

    def __init__(self, message: str, current: "Project | ProblemSpec | WorldModel") -> None:
        super().__init__(message)
        self.current = current
