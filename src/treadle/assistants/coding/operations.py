"""What the routes of the coding assistant are: what can be asked, and every answer there can be. Who answers is `routes`."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from treadle import Approval
from treadle.assistants.coding.account import Step
from treadle.assistants.coding.given import Build, Debug, Given, Review, Triage
from treadle.assistants.coding.patches import FilePatch
from treadle.assistants.coding.places import Place
from treadle.assistants.coding.sample import Sample
from treadle.routes import EVENTS, Answer, Decision, Operation, Problem, problem

Words = Annotated[str, Meta(max_length=20_000)]
Log = Annotated[str, Meta(max_length=200_000)]
Name = Annotated[str, Meta(max_length=250)]

# What is asked


class NewJob(Struct, frozen=True, forbid_unknown_fields=True):
    """A job to begin. `what` is to be built, is wrong, or is what a change is for; `branch` is to be reviewed."""

    kind: Literal["build", "debug", "review", "triage"]
    workspace: Annotated[str, Meta(max_length=4_096)]
    what: Words = ""
    log: Log = ""
    branch: Name = ""
    base: Name = ""

    def given(self) -> Given:
        """As the work takes it."""
        match self.kind:
            case "build":
                return Build(self.what.strip())
            case "debug":
                return Debug(self.what.strip(), self.log)
            case "review":
                return Review(self.branch.strip(), self.base.strip(), description=self.what.strip())
            case "triage":
                return Triage(self.what.strip(), self.log)


class Undo(Struct, frozen=True, forbid_unknown_fields=True):
    """What to take back: the last `steps` changes, or everything where there is no number."""

    steps: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    force: bool = False


class CallDecision(Decision, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the person says about a call that waits."""

    reason: Annotated[str, Meta(max_length=500)] = ""


# What is answered


class Workspaces(Struct, frozen=True):
    """The folders that may be worked in; `any` says that others may be named, `problem` what is wrong with the settings."""

    workspaces: list[Place]
    missing: list[str]
    any: bool
    problem: str


class JobBrief(Struct, frozen=True):
    """A job in a list."""

    id: str
    kind: str
    title: str
    state: Literal["pending", "running", "waiting", "completed", "failed", "cancelled"]
    is_good: bool | None
    workspace: str
    created_at: float
    started_at: float
    finished_at: float


class JobTold(JobBrief, frozen=True, kw_only=True):
    """A job, with what came of it, and what waits for the person."""

    words: str
    why: str
    report: str
    lines: list[str]
    verdict: str
    model: str
    base: str
    branch: str
    is_back: bool
    can_undo: bool
    can_cancel: bool
    can_resume: bool
    doing: str
    approvals: list[Approval]


class JobsListed(Struct, frozen=True):
    """The jobs, newest first; `more` says that there are others."""

    jobs: list[JobBrief]
    more: bool


class JobBegun(Struct, frozen=True):
    """A job that was begun, and what is worth knowing about its folder."""

    job: JobBrief
    notes: list[str]


class JobNow(Struct, frozen=True):
    """How a job stands."""

    job: JobBrief


class JobShown(Struct, frozen=True):
    """A job, and its story so far."""

    job: JobTold
    steps: list[Step]


class JobPatch(Struct, frozen=True):
    """What a job changed; `version` is another one after each change."""

    version: str
    files: tuple[FilePatch, ...]
    left_out: int


class TakenBackTold(Struct, frozen=True):
    """What was taken back, in lines for people."""

    lines: list[str]


class UndoRefused(Problem, frozen=True, kw_only=True):
    """Why nothing was taken back; `changed` are files that the person has changed since."""

    changed: tuple[str, ...] = ()


NO_JOB = problem("there is no such job of theirs")
PLACE = {
    403: problem("this folder isn't theirs to work in, or the request comes from another page"),
    404: problem("there is no such folder, or no such job of theirs"),
    409: problem("this can't be done now; the sentence says why"),
}
NO_MODEL = {502: problem("the model's server failed"), 503: problem("there is no model; the sentence says what to do")}
MANY = problem("as many jobs are under way as they may have, or too many requests")

Row = tuple[str, str, str, Operation]  # method, path, endpoint

TABLE: tuple[Row, ...] = (
    (
        "GET",
        "/api/coding/workspaces",
        "workspaces",
        Operation("The folders that may be worked in", answers={200: Answer("the folders", Workspaces)}),
    ),
    (
        "POST",
        "/api/coding/sample",
        "sample",
        Operation(
            "A small project to try it on",
            answers={201: Answer("the sample", Sample), 409: problem("there are too many already, or there is no git")},
        ),
    ),
    (
        "GET",
        "/api/coding/jobs",
        "listed",
        Operation("The coding jobs, newest first", answers={200: Answer("the jobs", JobsListed)}),
    ),
    (
        "POST",
        "/api/coding/jobs",
        "begin",
        Operation(
            "Begin a coding job",
            body=NewJob,
            answers={
                201: Answer("it has begun", JobBegun),
                **PLACE,
                422: problem("there is nothing to go by"),
                429: MANY,
                **NO_MODEL,
            },
        ),
    ),
    (
        "GET",
        "/api/coding/jobs/{job_id}",
        "shown",
        Operation("A coding job, and its story so far", answers={200: Answer("the job", JobShown), 404: NO_JOB}),
    ),
    (
        "GET",
        "/api/coding/jobs/{job_id}/events",
        "events",
        Operation(
            "What happens in a coding job",
            answers={200: Answer("events, each a line of JSON; the last is `over`", dict[str, Any], EVENTS), 404: NO_JOB},
        ),
    ),
    (
        "GET",
        "/api/coding/jobs/{job_id}/diff",
        "diff",
        Operation(
            "What a coding job has changed so far",
            answers={200: Answer("the changes", JobPatch), 404: NO_JOB, 409: problem("its folder can't be looked at")},
        ),
    ),
    (
        "POST",
        "/api/coding/jobs/{job_id}/cancel",
        "cancel",
        Operation("Stop a coding job", answers={202: Answer("it stops", JobNow), 404: NO_JOB}),
    ),
    (
        "POST",
        "/api/coding/jobs/{job_id}/resume",
        "resume",
        Operation("Go on with a coding job", answers={202: Answer("it goes on", JobNow), **PLACE, 429: MANY}),
    ),
    (
        "POST",
        "/api/coding/jobs/{job_id}/undo",
        "undo",
        Operation(
            "Take back what a coding job changed",
            body=Undo,
            answers={
                **PLACE,
                200: Answer("what was taken back", TakenBackTold),
                409: Answer("nothing was taken back; the sentence says why", UndoRefused),
            },
        ),
    ),
    (
        "POST",
        "/api/coding/jobs/{job_id}/approvals/{call_id}",
        "decide",
        Operation(
            "Approve or deny a call of a coding job that waits",
            body=CallDecision,
            answers={202: Answer("it is written down, and the job goes on", JobNow), **PLACE},
        ),
    ),
)
