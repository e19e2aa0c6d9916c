"""Requests and responses of the coding assistant's HTTP API, and views of a job: in a list, in full, or what has changed. Pure."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle import Approval
from treadle.assistant import Job
from treadle.assistants.coding.agreed_checks import MAX_COMMAND
from treadle.assistants.coding.inputs import BuildInputs, DebugInputs, JobInputs, ReviewInputs, TriageInputs
from treadle.assistants.coding.job_report import format_job_state, format_work_lines, target_branch_of
from treadle.assistants.coding.patches import FilePatch
from treadle.assistants.coding.timeline import EntryJson, TimelineStep
from treadle.assistants.coding.workspaces import CodingWorkspace
from treadle.routes import Decision, Problem, Returns, redact

PATCH_MEDIA_TYPE = "text/x-diff"
LongText = Annotated[str, Meta(max_length=20_000)]
LogText = Annotated[str, Meta(max_length=200_000)]
BranchName = Annotated[str, Meta(max_length=250)]
PatchFile = Annotated[Response, Returns(200, "the patch", PATCH_MEDIA_TYPE, str)]
ACTIVE_STATES = ("pending", "running")


class NewCodingJob(Struct, frozen=True, forbid_unknown_fields=True):
    """A job to create. `what` is what to build, what is wrong, or what a change is for; `branch` is the branch to review.

    `check` is the command that checks the work where there are no tests; it is remembered for the folder.
    """

    kind: Literal["build", "debug", "review", "triage"]
    workspace: Annotated[str, Meta(max_length=4_096)]
    what: LongText = ""
    log: LogText = ""
    branch: BranchName = ""
    base: BranchName = ""
    check: Annotated[str, Meta(max_length=MAX_COMMAND)] = ""

    def given(self) -> JobInputs:
        """Return the job's inputs."""
        match self.kind:
            case "build":
                return BuildInputs(self.what.strip(), check=self.check.strip())
            case "debug":
                return DebugInputs(self.what.strip(), self.log, check=self.check.strip())
            case "review":
                return ReviewInputs(self.branch.strip(), self.base.strip(), description=self.what.strip())
            case "triage":
                return TriageInputs(self.what.strip(), self.log)


class CheckQuery(Struct, frozen=True):
    """The folder that a check is for."""

    workspace: Annotated[str, Meta(max_length=4_096)]


class CheckProposal(Struct, frozen=True):
    """The check of a folder without tests: the command that is proposed, and the one that the user agreed to.

    `agreed` is empty where they declined, and null where they weren't asked.
    """

    proposed: str
    agreed: str | None


class UndoRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What to undo: the last `steps` changes, or everything if there is no number."""

    steps: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    force: bool = False


class FollowUpRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What is still to be done."""

    what: LongText


class CodingCallDecision(Decision, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The person's decision about a call that waits."""

    reason: Annotated[str, Meta(max_length=500)] = ""


class WorkspaceList(Struct, frozen=True):
    """The allowed workspaces; `any` says that others may be named, `problem` what is wrong with the settings."""

    workspaces: list[CodingWorkspace]
    missing: list[str]
    any: bool
    problem: str


class UndoResult(Struct, frozen=True):
    """What was undone, in lines for people."""

    lines: list[str]


class UndoRefused(Problem, frozen=True, kw_only=True):
    """Why nothing was undone; `changed` are files that the person has changed since."""

    changed: tuple[str, ...] = ()


class JobMergeResult(Struct, frozen=True):
    """The result of a merge: the branch, the commit that it is at now, and lines for people."""

    into: str
    commit: str
    lines: list[str]


class CodingJobSummary(Struct, frozen=True):
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


class CodingJobDetail(CodingJobSummary, frozen=True, kw_only=True):
    """A job with its result, and the calls that wait for approval."""

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
    can_merge: bool
    into: str
    doing: str
    approvals: list[Approval]


class CodingJobList(Struct, frozen=True):
    """The jobs, newest first; `more` says that there are others."""

    jobs: list[CodingJobSummary]
    more: bool


class StartedCodingJob(Struct, frozen=True):
    """A job that was started, and notes about its folder."""

    job: CodingJobSummary
    notes: list[str]


class CodingJobStatus(Struct, frozen=True):
    """The status of a job."""

    job: CodingJobSummary


class CodingJobView(Struct, frozen=True):
    """A job, and its timeline so far."""

    job: CodingJobDetail
    steps: list[TimelineStep]


class CodingJobPatch(Struct, frozen=True):
    """What a job changed; `version` differs after each change."""

    version: str
    files: tuple[FilePatch, ...]
    left_out: int


class CodingJobSnapshot(Struct, frozen=True):
    """A snapshot of a job: its details and its steps. `version` differs after each change of its files."""

    job: CodingJobDetail
    steps: list[TimelineStep]
    version: str


def diff_snapshots(before: CodingJobSnapshot | None, now: CodingJobSnapshot) -> list[dict[str, Any]]:
    """Return the events that update a client from an earlier snapshot."""
    if before is None:
        return [{"event": "job", "job": now.job, "version": now.version}, {"event": "steps", "steps": now.steps}]
    found: list[dict[str, Any]] = []
    if (before.job, before.version) != (now.job, now.version):
        found.append({"event": "job", "job": now.job, "version": now.version})
    known = {step.id: step for step in before.steps}
    return [*found, *[{"event": "step", "step": step} for step in now.steps if known.get(step.id) != step]]


def summarize_job(job: Job) -> CodingJobSummary:
    """Return a job as it appears in a list."""
    return CodingJobSummary(**_summary_fields(job))


def _summary_fields(job: Job) -> dict[str, Any]:
    names = [name for name in CodingJobSummary.__struct_fields__ if name != "is_good"]
    return {**{name: getattr(job, name) for name in names}, "is_good": is_successful(job)}


def is_successful(job: Job) -> bool | None:
    """Return whether it ended well; None if it isn't over, or if that isn't known."""
    if job.state != "completed":
        return False if job.state == "failed" else None
    return not job.output.get("denied") and job.output.get("verified", True) is True


def to_job_detail(job: Job, doing: str, approvals: list[Approval]) -> CodingJobDetail:
    """Return a job with its result, its current activity, and the calls that wait for approval."""
    output = job.output
    report = next((output[name] for name in ("review_text", "triage_report", "summary") if output.get(name)), "")
    touched, is_back = bool(job.facts.get("touched")), job.facts.get("at") == 0
    return CodingJobDetail(
        **_summary_fields(job),
        words=redact(format_job_state(job)),
        why=redact(job.why),
        report=redact(str(report)),
        lines=format_work_lines(job) if job.is_over else [],
        verdict=output.get("verdict", ""),
        model=job.origin.get("model", ""),
        base=job.facts.get("base") or "",
        branch=job.facts.get("branch") or "",
        is_back=is_back and job.state not in ACTIVE_STATES,
        can_undo=touched and not is_back and job.state not in ACTIVE_STATES,
        can_cancel=not job.is_over,
        can_resume=job.state in ("failed", "waiting"),
        can_merge=job.state == "completed" and bool(output.get("commit")) and not (is_back or output.get("merged")),
        into=target_branch_of(job),
        doing=doing,
        approvals=approvals,
    )


def redact_entry(entry: dict[str, Any]) -> EntryJson:
    """Return an entry with the fields redacted that aren't when it is written: results are."""
    match entry["kind"]:
        case "judged":
            return {**entry, "call": {**entry["call"], "arguments": redact(entry["call"].get("arguments", {}))}}
        case "said":
            return {**entry, "text": redact(entry["text"])}
        case "replied":
            return {**entry, "parts": [{**part, "text": redact(part.get("text", ""))} for part in entry.get("parts", ())]}
        case _:
            return entry
