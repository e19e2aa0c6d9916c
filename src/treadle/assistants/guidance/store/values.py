"""What the project store keeps, as its callers see it. Values only; a value that can't be kept can't be made.

`version` counts the changes of a value: whoever changes one says which version they saw. What the store fills in itself (ids,
versions, times, whose it is) has defaults here, so that a new value can be made from what a person or a model says.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args
from uuid import uuid4

from msgspec import Meta, Struct, field

from treadle.assistants.guidance.store.checks import MOST_SAID, different, few, name, one_of, text
from treadle.assistants.guidance.store.errors import BadValue

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
Moment = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]

SECTIONS = ("actors", "mechanisms", "resources", "constraints", "assumptions", "simplifications")
ENDED: tuple[RunStatus, ...] = ("completed", "failed", "cancelled")


def new_id() -> str:
    """An id that nothing else has."""
    return uuid4().hex


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)


class Project(Struct, frozen=True):
    """What somebody works on. Its owner and its members see it; to everybody else it isn't there."""

    title: str
    description: str = ""
    owner: str = ""
    members: tuple[str, ...] = ()  # without the owner
    id: str = field(default_factory=new_id)
    version: Count = 1  # of title and description
    created_at: Moment = field(default_factory=now)
    updated_at: Moment = field(default_factory=now)  # when anything of the project changed

    def __post_init__(self) -> None:
        name("title of a project", self.title)
        text("description of a project", self.description)


class ChatSession(Struct, frozen=True):
    """A conversation about a project, perhaps about one run or candidate of it."""

    project_id: str
    title: str = ""
    mode: SessionMode = "setup"
    run_id: str | None = None
    candidate_id: str | None = None
    id: str = field(default_factory=new_id)
    created_at: Moment = field(default_factory=now)

    def __post_init__(self) -> None:
        text("title of a chat session", self.title)
        one_of("mode of a chat session", self.mode, get_args(SessionMode))


class ChatMessage(Struct, frozen=True):
    """One thing said in a chat session."""

    chat_session_id: str
    role: Role
    content: str
    metadata: dict[str, Any] = {}
    project_id: str = ""
    id: str = field(default_factory=new_id)
    created_at: Moment = field(default_factory=now)

    def __post_init__(self) -> None:
        one_of("role of a message", self.role, get_args(Role))
        text("content of a message", self.content, MOST_SAID)


class Constraint(Struct, frozen=True):
    """What a solution is held to; one of weight 100 it has to keep."""

    name: str
    description: str = ""
    weight: int = 50

    def __post_init__(self) -> None:
        name("name of a constraint", self.name)
        text(f"description of {self.name!r}", self.description)
        if type(self.weight) is not int or not 0 <= self.weight <= 100:
            raise BadValue(f"The weight of {self.name!r} is {self.weight!r}; it is a whole number from 0 to 100, which is a must.")


class ProblemSpec(Struct, frozen=True):
    """What a project is to solve. Version 0 isn't kept yet."""

    constraints: tuple[Constraint, ...] = ()
    goals: tuple[str, ...] = ()
    resolution: Resolution = "medium"
    mode: Mode = "full_search"
    version: Count = 0
    updated_at: Moment | None = None

    def __post_init__(self) -> None:
        few("constraints", self.constraints)
        different("constraints", (each.name for each in self.constraints))
        few("goals", self.goals)
        for goal in self.goals:
            text("text of a goal", goal)
        one_of("resolution", self.resolution, get_args(Resolution))
        one_of("mode", self.mode, get_args(Mode))


class Entry(Struct, frozen=True):
    """One thing in a world model. `links` are ids of others that it has to do with."""

    name: str
    description: str = ""
    type: str = ""
    links: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        name("name of an entry", self.name)
        text(f"description of {self.name!r}", self.description)
        name(f"id of {self.name!r}", self.id)


class WorldModel(Struct, frozen=True):
    """How the world that a project is about works, in six sections. Version 0 isn't kept yet."""

    actors: tuple[Entry, ...] = ()
    mechanisms: tuple[Entry, ...] = ()
    resources: tuple[Entry, ...] = ()
    constraints: tuple[Entry, ...] = ()
    assumptions: tuple[Entry, ...] = ()
    simplifications: tuple[Entry, ...] = ()
    version: Count = 0
    updated_at: Moment | None = None

    def __post_init__(self) -> None:
        ids: set[str] = set()
        for section in SECTIONS:
            entries: tuple[Entry, ...] = getattr(self, section)
            few(section, entries)
            for entry in entries:
                if entry.id in ids:
                    raise BadValue(f"Two entries of the world model have the id {entry.id!r}; each needs one of its own.")
                ids.add(entry.id)


class Run(Struct, frozen=True):
    """One search for solutions, started by a person. What the assistant had recommended is kept with it."""

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
    ui_triggered_at: Moment | None = None
    run_summary_message_id: str | None = None
    candidate_count: Count = 0
    scenario_count: Count = 0
    evaluation_count: Count = 0
    metrics: dict[str, Any] = {}
    llm_usage: dict[str, Any] = {}
    error_summary: str = ""
    id: str = field(default_factory=new_id)
    created_at: Moment = field(default_factory=now)
    started_at: Moment | None = None
    completed_at: Moment | None = None

    def __post_init__(self) -> None:
        one_of("mode of a run", self.mode, get_args(Mode))
        one_of("status of a run", self.status, get_args(RunStatus))
        text("error of a run", self.error_summary)
        for reference in (self.ui_trigger_id, self.ui_trigger_source, self.recommended_message_id, self.run_summary_message_id):
            text("reference of a run", reference or "")

    @property
    def duration_seconds(self) -> float | None:
        """How long it took, once it has ended."""
        if self.started_at is None or self.completed_at is None:
            return None
        return (self.completed_at - self.started_at).total_seconds()


class Candidate(Struct, frozen=True):
    """A solution that a run looked at, or that a person proposed for it."""

    run_id: str
    mechanism_description: str
    origin: Origin = "system"
    predicted_effects: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    parent_ids: tuple[str, ...] = ()
    status: CandidateStatus = "new"
    project_id: str = ""
    id: str = field(default_factory=new_id)
    created_at: Moment = field(default_factory=now)

    def __post_init__(self) -> None:
        text("description of a candidate", self.mechanism_description)
        one_of("origin of a candidate", self.origin, get_args(Origin))
        one_of("status of a candidate", self.status, get_args(CandidateStatus))


class Issue(Struct, frozen=True):
    """Something that is wrong with the model, a constraint, an evaluator or a scenario."""

    project_id: str
    type: IssueType
    severity: Severity
    description: str
    resolution_status: ResolutionStatus = "open"
    resolution_note: str = ""
    run_id: str | None = None
    candidate_id: str | None = None
    id: str = field(default_factory=new_id)
    created_at: Moment = field(default_factory=now)
    resolved_at: Moment | None = None

    def __post_init__(self) -> None:
        one_of("type of an issue", self.type, get_args(IssueType))
        one_of("severity of an issue", self.severity, get_args(Severity))
        one_of("status of an issue", self.resolution_status, get_args(ResolutionStatus))
        text("description of an issue", self.description)
        text("note of an issue", self.resolution_note)


class Provenance(Struct, frozen=True):
    """How a change came about. Whoever changes something says the first six, the store fills in what it was about, and for whom."""

    type: str
    description: str = ""
    actor: Role = "user"
    source: str | None = None
    reference_ids: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    timestamp: Moment = field(default_factory=now)
    subject: str = ""  # `project`, `problem_spec`, `world_model`, or whatever else it was said of
    version: Count | None = None  # which version of its subject came of it
    user: str = ""
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        name("type of a provenance entry", self.type)
        text("description of a provenance entry", self.description)
        one_of("actor of a provenance entry", self.actor, get_args(Role))
        text("source of a provenance entry", self.source or "")
