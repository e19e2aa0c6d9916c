"""The project store of the guidance assistant: SQLite in a file, or PostgreSQL by address.

    async with await open_store("projects.db") as store:
        project = await store.create_project("ada", "A bridge")
        spec = ProblemSpec((Constraint("Budget", "at most 10k", 80),))
        await store.put_problem_spec("ada", project.id, spec, expected=0, why=Provenance("created"))

Importing this costs little: `Store` is imported with the first `open_store`, and its dependencies come with
`pip install 'treadle[guidance]'`.
"""

from typing import TYPE_CHECKING, Any

from treadle.assistants.guidance.store.errors import (
    InvalidValue,
    ItemNotFound,
    NotProjectOwner,
    ProjectNotFound,
    StoreError,
    VersionConflict,
)
from treadle.assistants.guidance.store.factory import open_store
from treadle.assistants.guidance.store.values import (
    SECTIONS,
    Candidate,
    ChatMessage,
    ChatSession,
    Constraint,
    ProblemSpec,
    Project,
    ProjectIssue,
    Provenance,
    Run,
    WorldEntry,
    WorldModel,
)

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

__all__ = [
    "SECTIONS",
    "Candidate",
    "ChatMessage",
    "ChatSession",
    "Constraint",
    "InvalidValue",
    "ItemNotFound",
    "NotProjectOwner",
    "ProblemSpec",
    "Project",
    "ProjectIssue",
    "ProjectNotFound",
    "Provenance",
    "Run",
    "Store",
    "StoreError",
    "VersionConflict",
    "WorldEntry",
    "WorldModel",
    "open_store",
]


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from treadle.assistants.guidance.store.factory import load_store_class

    return load_store_class()
