"""Where the guidance assistant keeps its projects: SQLite in a file, or PostgreSQL by address.

    async with await open_store("projects.db") as store:
        project = await store.create_project("ada", "A bridge")
        spec = ProblemSpec((Constraint("Budget", "at most 10k", 80),))
        await store.put_problem_spec("ada", project.id, spec, expected=0, why=Provenance("created"))

Importing this costs little: what keeps them (`Store`) is imported with the first `open_store`, and comes with
`pip install 'treadle[guidance]'`.
"""

from typing import TYPE_CHECKING, Any

from treadle.assistants.guidance.store.errors import BadValue, ChangedMeanwhile, NotThere, NotYours, ProjectNotFound, StoreError
from treadle.assistants.guidance.store.opening import open_store
from treadle.assistants.guidance.store.values import (
    SECTIONS,
    Candidate,
    ChatMessage,
    ChatSession,
    Constraint,
    Entry,
    Issue,
    ProblemSpec,
    Project,
    Provenance,
    Run,
    WorldModel,
)

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

__all__ = [
    "SECTIONS",
    "BadValue",
    "Candidate",
    "ChangedMeanwhile",
    "ChatMessage",
    "ChatSession",
    "Constraint",
    "Entry",
    "Issue",
    "NotThere",
    "NotYours",
    "ProblemSpec",
    "Project",
    "ProjectNotFound",
    "Provenance",
    "Run",
    "Store",
    "StoreError",
    "WorldModel",
    "open_store",
]


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from treadle.assistants.guidance.store.opening import store_type

    return store_type()
