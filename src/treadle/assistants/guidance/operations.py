"""What the routes of the guidance assistant are: what can be asked, and every answer there can be. Who answers is `routes`.

Paths and shapes are those of the original, for what it has.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from treadle.assistants.guidance.preflight import Preflight
from treadle.assistants.guidance.session import MESSAGES, Guided
from treadle.assistants.guidance.stages import Progress, Stage
from treadle.assistants.guidance.store.values import (
    ChatSession,
    Constraint,
    Count,
    Entry,
    Mode,
    Moment,
    ProblemSpec,
    Project,
    Provenance,
    Resolution,
    Role,
    Run,
    SessionMode,
    WorldModel,
)
from treadle.routes import EVENTS, Answer, Operation

# What is asked


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


# What is answered


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


def _does(
    summary: str,
    right: Mapping[int, Answer],
    wrong: Mapping[int, str] | None = None,
    body: type[Struct] | None = None,
    *,
    runs: bool = False,
) -> Operation:
    """What a route does; what goes wrong has the original's shape."""
    refused = {status: Answer(words, Detail) for status, words in (wrong or {}).items()}
    return Operation(summary, body=body, answers={**refused, **right}, problem=Detail, runs=runs)


GONE = {404: "there is nothing by that name that they may see"}
UNFIT = {422: "it can't be kept like that"}
EVENT_LINES = Answer("events, each a line of JSON", dict[str, Any], EVENTS)
CHANGED = Answer("somebody else was first", Outdated)

Row = tuple[str, str, str, Operation]  # method, path, endpoint

TABLE: tuple[Row, ...] = (
    ("GET", "/projects", "projects", _does("The person's projects", {200: Answer("the projects", list[Project])})),
    ("POST", "/projects", "begin", _does("Begin a project", {201: Answer("the project", Project)}, UNFIT, NewProject)),
    ("GET", "/projects/{project_id}", "project", _does("A project", {200: Answer("the project", Project)}, GONE)),
    (
        "PUT",
        "/projects/{project_id}",
        "rename",
        _does("Rename a project", {200: Answer("the project", Project), 409: CHANGED}, {**GONE, **UNFIT}, Renamed),
    ),
    ("DELETE", "/projects/{project_id}", "remove", _does("Remove a project", {204: Answer("it is gone")}, GONE)),
    (
        "GET",
        "/projects/{project_id}/problem-spec",
        "problem_spec",
        _does("What a project is to solve", {200: Answer("the problem spec", ProblemSpec)}, GONE),
    ),
    (
        "PUT",
        "/projects/{project_id}/problem-spec",
        "put_problem_spec",
        _does(
            "Change what a project is to solve",
            {200: Answer("the problem spec", ProblemSpec), 409: CHANGED},
            {**GONE, **UNFIT},
            PutSpec,
        ),
    ),
    (
        "GET",
        "/projects/{project_id}/world-model",
        "world_model",
        _does("The world that a project is about", {200: Answer("the world model", WorldModel)}, GONE),
    ),
    (
        "PUT",
        "/projects/{project_id}/world-model",
        "put_world_model",
        _does(
            "Change the world that a project is about",
            {200: Answer("the world model", WorldModel), 409: CHANGED},
            {**GONE, **UNFIT},
            PutWorld,
        ),
    ),
    (
        "GET",
        "/projects/{project_id}/workflow-state",
        "workflow_state",
        _does("How far a project is", {200: Answer("how it stands", WorkflowState)}, GONE),
    ),
    (
        "GET",
        "/projects/{project_id}/provenance",
        "provenance",
        _does("Who changed what in a project, and why", {200: Answer("the changes", list[Provenance])}, GONE),
    ),
    ("GET", "/projects/{project_id}/runs", "runs", _does("The searches of a project", {200: Answer("them", list[Run])}, GONE)),
    (
        "POST",
        "/projects/{project_id}/runs/preflight",
        "preflight",
        _does("Whether a search could begin", {200: Answer("what was found", Preflight)}, GONE, RunWanted),
    ),
    (
        "GET",
        "/projects/{project_id}/chat-sessions",
        "sessions",
        _does("The conversations about a project", {200: Answer("the conversations", list[ChatSession])}, GONE),
    ),
    (
        "POST",
        "/chat-sessions",
        "begin_session",
        _does("Begin a conversation", {201: Answer("the conversation", ChatSession)}, {**GONE, **UNFIT}, NewSession),
    ),
    (
        "GET",
        "/chat-sessions/{session_id}/messages",
        "messages",
        _does("What was said in a conversation", {200: Answer("the messages", list[MessageTold])}, GONE),
    ),
    (
        "POST",
        "/chat-sessions/{session_id}/messages",
        "add_message",
        _does("Add a message", {201: Answer("the message", MessageTold)}, {**GONE, **UNFIT}, NewMessage),
    ),
    (
        "POST",
        "/chat-sessions/{session_id}/guidance",
        "guidance",
        _does("Guidance that isn't kept as a message", {200: Answer("the answer", Guided)}, GONE, GuidanceAsked, runs=True),
    ),
    (
        "POST",
        "/chat-sessions/{session_id}/architect-reply",
        "architect_reply",
        _does(
            "Answer what was said last",
            {200: Answer("the answer, as it is kept", MessageTold)},
            {**GONE, 400: "nothing has been said yet", 409: "the answer was stopped"},
            runs=True,
        ),
    ),
    (
        "POST",
        "/chat-sessions/{session_id}/architect-reply-stream",
        "architect_reply_stream",
        _does("Answer what was said last, and see it come", {200: EVENT_LINES}, GONE, runs=True),
    ),
)
