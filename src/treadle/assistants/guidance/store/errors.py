"""What the project store raises; each message is a sentence for the person who asked.

StoreError                the database can't be used
├── BadValue              a value that can't be kept; a ValueError too, so that decoding says where it stands
├── NotThere              nothing by that id, or nothing that this user may see
│   └── ProjectNotFound
├── NotYours              only the owner of a project may do this
└── ChangedMeanwhile      somebody else was first; `current` is what is there now
"""

from typing import TYPE_CHECKING

from treadle import TreadleError

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.values import ProblemSpec, Project, WorldModel


class StoreError(TreadleError):
    """The database that projects are kept in can't be used."""


class BadValue(StoreError, ValueError):
    """A value that can't be kept."""


class NotThere(StoreError):
    """Nothing by that id. What belongs to somebody else isn't there either."""


class ProjectNotFound(NotThere):
    """No project by that id that this user may see."""


class NotYours(StoreError):
    """Only the owner of a project may do this."""


class ChangedMeanwhile(StoreError):
    """Somebody else changed it after it was read. Nothing was written; `current` is what is there now."""

    def __init__(self, message: str, current: "Project | ProblemSpec | WorldModel") -> None:
        super().__init__(message)
        self.current = current
