"""The bodies of requests and responses of the guidance assistant. What the original has, has its shape."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from treadle.assistants.guidance.session import MESSAGES
from treadle.assistants.guidance.stages import Progress, Stage
from treadle.assistants.guidance.store.values import (
    Constraint,
    Count,
    Entry,
    Mode,
    Moment,
    Resolution,
    Role,
    SessionMode,
)

# What is sent


class NewProject(Struct, frozen=True):
    """A project to begin."""

    title: Annotated[str, Meta(examples=["Fewer queues"])]
    description: str = ""


class Renamed(Struct, frozen=True):
    """What a project is called from now on; `version` is what was seen."""

    version: Count
    title: str | None = None
    description: str | None = None


class PutSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A problem spec in place of the version that was seen; what isn't there stays as it is."""

    version: Count
    constraints: tuple[Constraint, ...] | msgspec.UnsetType = msgspec.UNSET
    goals: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    resolution: Resolution | msgspec.UnsetType = msgspec.UNSET
    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    updated_at: Any = None


class PutWorld(Struct, frozen=True, forbid_unknown_fields=True):
    """A world model, likewise."""

    version: Count
    actors: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    mechanisms: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    resources: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    constraints: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    assumptions: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    simplifications: tuple[Entry, ...] | msgspec.UnsetType = msgspec.UNSET
    updated_at: Any = None


class NewSession(Struct, frozen=True):
    """A conversation to begin."""

    project_id: str
    title: str = ""
    mode: SessionMode = "setup"


class NewMessage(Struct, frozen=True):
    """Something said."""

    content: str
    role: Role = "user"
    message_metadata: dict[str, Any] = {}


class RunWanted(Struct, frozen=True):
    """A run to look at before it begins."""

    mode: str = "full_search"
    parameters: dict[str, Any] = {}


class GuidanceAsked(Struct, frozen=True):
    """A question, or none."""

    user_query: str = ""
    message_limit: int = MESSAGES


# What comes back


class Detail(Struct, frozen=True):
    """What went wrong, in a sentence, as clients of the original know it."""

    detail: str


class Outdated(Struct, frozen=True):
    """Somebody else was first; `current` is what is there now."""

    detail: str
    current: dict[str, Any]


class MessageTold(Struct, frozen=True):
    """One thing said in a conversation."""

    id: str
    chat_session_id: str
    project_id: str
    role: Role
    content: str
    message_metadata: dict[str, Any]
    created_at: Moment


class WorkflowState(Struct, frozen=True):
    """How far a project is."""

    stage: Stage
    has_problem_spec: bool
    has_world_model: bool
    has_runs: bool
    run_count: int
    project_title: str | None
    project_description: str | None
    workflow_progress: Progress
