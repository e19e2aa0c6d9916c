"""Values of the project store, as its callers see them. A value that can't be stored can't be created.

`version` counts the changes of a value: a caller who changes one passes the version they saw. What the store fills in itself
(ids, versions, times, owners) has defaults here, so that a new value can be made from a person's or a model's input.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args
from uuid import uuid4

from msgspec import Meta, Struct, field

from treadle.assistants.guidance.store.errors import InvalidValue
from treadle.assistants.guidance.store.validation import (
    MAX_MESSAGE,
    check_choice,
    check_item_count,
    check_name,
    check_text,
    check_unique_names,
)

Role = Literal["user", "agent", "system"]
SessionMode = Literal["setup", "analysis"]
Resolution = Literal["coarse", "medium", "fine"]
Mode = Literal["full_search", "eval_only", "seeded"]
RunStatus = Literal["created", "running", "completed", "failed", "cancelled"]
Origin = Literal["user", "system"]
CandidateStatus = Literal["new", "under_test", "promising", "weak", "rejected"]
IssueType = Literal["model", "constraint", "evaluator", "scenario"]
Severity = Literal["minor", "important", "catastrophic"]
ResolutionStatus = Literal["open", "resolved", "invalidated"]
Timestamp = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]

SECTIONS = ("actors", "mechanisms", "resources", "constraints", "assumptions", "simplifications")
ENDED: tuple[RunStatus, ...] = ("completed", "failed", "cancelled")


def new_id() -> str:
    """Return a unique id."""
    return uuid4().hex


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class Project(Struct, frozen=True):
    """A project. Only its owner and its members can see it."""

    title: str
    description: str = ""
    owner: str = ""
    members: tuple[str, ...] = ()  # without the owner
    id: str = field(default_factory=new_id)
    version: Count = 1  # of title and description
    created_at: Timestamp = field(default_factory=utc_now)
    updated_at: Timestamp = field(default_factory=utc_now)  # when anything of the project changed
    can_edit: bool = True  # whether the user that it was read for may change it

    def __post_init__(self) -> None:
        check_name("title of a project", self.title)
        check_text("description of a project", self.description)


class ChatSession(Struct, frozen=True):
    """A conversation about a project, perhaps about one run or candidate of it."""

    project_id: str
    title: str = ""
    mode: SessionMode = "setup"
    run_id: str | None = None
    candidate_id: str | None = None
    id: str = field(default_factory=new_id)
    created_at: Timestamp = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        check_text("title of a chat session", self.title)
        check_choice("mode of a chat session", self.mode, get_args(SessionMode))


class ChatMessage(Struct, frozen=True):
    """One message of a chat session."""

    chat_session_id: str
    role: Role
    content: str
    metadata: dict[str, Any] = {}
    project_id: str = ""
    id: str = field(default_factory=new_id)
    created_at: Timestamp = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        check_choice("role of a message", self.role, get_args(Role))
        check_text("content of a message", self.content, MAX_MESSAGE)


class Constraint(Struct, frozen=True):
    """A constraint on solutions; one of weight 100 is mandatory."""

    name: str
    description: str = ""
    weight: int = 50

    def __post_init__(self) -> None:
        check_name("name of a constraint", self.name)
        check_text(f"description of {self.name!r}", self.description)
        if type(self.weight) is not int or not 0 <= self.weight <= 100:
            raise InvalidValue(
                f"The weight of {self.name!r} is {self.weight!r}; it is a whole number from 0 to 100, which is a must."
            )


class ProblemSpec(Struct, frozen=True):
    """What a project is to solve. Version 0 isn't stored yet."""

    constraints: tuple[Constraint, ...] = ()
    goals: tuple[str, ...] = ()
    resolution: Resolution = "medium"
    mode: Mode = "full_search"
    version: Count = 0
    updated_at: Timestamp | None = None

    def __post_init__(self) -> None:
        check_item_count("constraints", self.constraints)
        check_unique_names("constraints", (each.name for each in self.constraints))
        check_item_count("goals", self.goals)
        for goal in self.goals:
            check_text("text of a goal", goal)
        check_choice("resolution", self.resolution, get_args(Resolution))
        check_choice("mode", self.mode, get_args(Mode))


class WorldEntry(Struct, frozen=True):
    """One entry of a world model. `links` are ids of related entries."""

    name: str
    description: str = ""
    type: str = ""
    links: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        check_name("name of an entry", self.name)
        check_text(f"description of {self.name!r}", self.description)
        check_name(f"id of {self.name!r}", self.id)


class WorldModel(Struct, frozen=True):
    """How the world that a project is about works, in six sections. Version 0 isn't stored yet."""

    actors: tuple[WorldEntry, ...] = ()
    mechanisms: tuple[WorldEntry, ...] = ()
    resources: tuple[WorldEntry, ...] = ()
    constraints: tuple[WorldEntry, ...] = ()
    assumptions: tuple[WorldEntry, ...] = ()
    simplifications: tuple[WorldEntry, ...] = ()
    version: Count = 0
    updated_at: Timestamp | None = None

    def __post_init__(self) -> None:
        ids: set[str] = set()
        for section in SECTIONS:
            entries: tuple[WorldEntry, ...] = getattr(self, section)
            check_item_count(section, entries)
            for entry in entries:
                if entry.id in ids:
                    raise InvalidValue(f"Two entries of the world model have the id {entry.id!r}; each needs one of its own.")
                ids.add(entry.id)


class Run(Struct, frozen=True):
    """One search for solutions, started by a person. The assistant's recommendation is stored with it."""

    project_id: str
    mode: Mode = "full_search"
    config: dict[str, Any] = {}
    status: RunStatus = "created"
    chat_session_id: str | None = None
    recommended_message_id: str | None = None
    recommended_config_snapshot: dict[str, Any] | None = None
    ui_trigger_id: str | None = None
    ui_trigger_source: str | None = None
    ui_trigger_metadata: dict[str, Any] = {}
    ui_triggered_at: Timestamp | None = None
    run_summary_message_id: str | None = None
    candidate_count: Count = 0
    scenario_count: Count = 0
    evaluation_count: Count = 0
    metrics: dict[str, Any] = {}
    llm_usage: dict[str, Any] = {}
    error_summary: str = ""
    id: str = field(default_factory=new_id)
    created_at: Timestamp = field(default_factory=utc_now)
    started_at: Timestamp | None = None
    completed_at: Timestamp | None = None

    def __post_init__(self) -> None:
        check_choice("mode of a run", self.mode, get_args(Mode))
        check_choice("status of a run", self.status, get_args(RunStatus))
        check_text("error of a run", self.error_summary)
        for reference in (self.ui_trigger_id, self.ui_trigger_source, self.recommended_message_id, self.run_summary_message_id):
            check_text("reference of a run", reference or "")

    @property
    def duration_seconds(self) -> float | None:
        """How long it took, once it has ended."""
        if self.started_at is None or self.completed_at is None:
            return None
        return (self.completed_at - self.started_at).total_seconds()


class Candidate(Struct, frozen=True):
    """A solution that a run evaluated, or that a person proposed for it."""

    run_id: str
    mechanism_description: str
    origin: Origin = "system"
    predicted_effects: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    parent_ids: tuple[str, ...] = ()
    status: CandidateStatus = "new"
    project_id: str = ""
    id: str = field(default_factory=new_id)
    created_at: Timestamp = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        check_text("description of a candidate", self.mechanism_description)
        check_choice("origin of a candidate", self.origin, get_args(Origin))
        check_choice("status of a candidate", self.status, get_args(CandidateStatus))


class ProjectIssue(Struct, frozen=True):
    """An issue with the model, a constraint, an evaluator or a scenario."""

    project_id: str
    type: IssueType
    severity: Severity
    description: str
    resolution_status: ResolutionStatus = "open"
    resolution_note: str = ""
    run_id: str | None = None
    candidate_id: str | None = None
    id: str = field(default_factory=new_id)
    created_at: Timestamp = field(default_factory=utc_now)
    resolved_at: Timestamp | None = None

    def __post_init__(self) -> None:
        check_choice("type of an issue", self.type, get_args(IssueType))
        check_choice("severity of an issue", self.severity, get_args(Severity))
        check_choice("status of an issue", self.resolution_status, get_args(ResolutionStatus))
        check_text("description of an issue", self.description)
        check_text("note of an issue", self.resolution_note)


class Provenance(Struct, frozen=True):
    """The provenance of a change. The caller sets the first six fields; the store fills in the subject and the user."""

    type: str
    description: str = ""
    actor: Role = "user"
    source: str | None = None
    reference_ids: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    timestamp: Timestamp = field(default_factory=utc_now)
    subject: str = ""  # `project`, `problem_spec`, `world_model`, or whatever else it was said of
    version: Count | None = None  # which version of its subject came of it
    user: str = ""
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        check_name("type of a provenance entry", self.type)
        check_text("description of a provenance entry", self.description)
        check_choice("actor of a provenance entry", self.actor, get_args(Role))
        check_text("source of a provenance entry", self.source or "")
