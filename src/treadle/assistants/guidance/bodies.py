"""Request and response bodies of the guidance assistant. Bodies that the original API has keep its shape."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from treadle.assistants.guidance.session import HISTORY_MESSAGES
from treadle.assistants.guidance.stages import Stage, WorkflowProgress
from treadle.assistants.guidance.store.values import (
    Constraint,
    Count,
    Mode,
    Resolution,
    Role,
    SessionMode,
    Timestamp,
    WorldEntry,
)

# What is sent


class NewProject(Struct, frozen=True):
    """A project to create."""

    title: Annotated[str, Meta(examples=["Fewer queues"])]
    description: str = ""


class ProjectUpdate(Struct, frozen=True):
    """A project's new title and description; `version` is the version that was seen."""

    version: Count
    title: str | None = None
    description: str | None = None


class ProblemSpecUpdate(Struct, frozen=True, forbid_unknown_fields=True):
    """A problem spec that replaces the version that was seen; missing fields stay as they are."""

    version: Count
    constraints: tuple[Constraint, ...] | msgspec.UnsetType = msgspec.UNSET
    goals: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    resolution: Resolution | msgspec.UnsetType = msgspec.UNSET
    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    updated_at: Any = None


class WorldModelUpdate(Struct, frozen=True, forbid_unknown_fields=True):
    """A world model, likewise."""

    version: Count
    actors: tuple[WorldEntry, ...] | msgspec.UnsetType = msgspec.UNSET
    mechanisms: tuple[WorldEntry, ...] | msgspec.UnsetType = msgspec.UNSET
    resources: tuple[WorldEntry, ...] | msgspec.UnsetType = msgspec.UNSET
    constraints: tuple[WorldEntry, ...] | msgspec.UnsetType = msgspec.UNSET
    assumptions: tuple[WorldEntry, ...] | msgspec.UnsetType = msgspec.UNSET
    simplifications: tuple[WorldEntry, ...] | msgspec.UnsetType = msgspec.UNSET
    updated_at: Any = None


class NewChatSession(Struct, frozen=True):
    """A conversation to start."""

    project_id: str
    title: str = ""
    mode: SessionMode = "setup"


class NewChatMessage(Struct, frozen=True):
    """A message to add."""

    content: str
    role: Role = "user"
    message_metadata: dict[str, Any] = {}


class PreflightRequest(Struct, frozen=True):
    """A run to check before it starts."""

    mode: str = "full_search"
    parameters: dict[str, Any] = {}


class GuidanceRequest(Struct, frozen=True):
    """A question, or none."""

    user_query: str = ""
    message_limit: int = HISTORY_MESSAGES


# What comes back


class ErrorDetail(Struct, frozen=True):
    """An error message, in the shape that clients of the original API expect."""

    detail: str


class ConflictDetail(Struct, frozen=True):
    """A version conflict; `current` is the stored value."""

    detail: str
    current: dict[str, Any]


class ChatMessageView(Struct, frozen=True):
    """One message of a conversation."""

    id: str
    chat_session_id: str
    project_id: str
    role: Role
    content: str
    message_metadata: dict[str, Any]
    created_at: Timestamp


class WorkflowState(Struct, frozen=True):
    """The workflow state of a project."""

    stage: Stage
    has_problem_spec: bool
    has_world_model: bool
    has_runs: bool
    run_count: int
    project_title: str | None
    project_description: str | None
    workflow_progress: WorkflowProgress
