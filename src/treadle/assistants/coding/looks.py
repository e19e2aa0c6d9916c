"""A job as programs are told of it: in a list, in full, and what is news of it to somebody who knew it before. Pure."""

from typing import Any, Literal

from msgspec import Struct

from treadle import Approval, Job
from treadle.assistants.coding.account import Entry, Step
from treadle.assistants.coding.patches import FilePatch
from treadle.assistants.coding.show import lines, state_words, target_of
from treadle.routes import redacted

UNDER_WAY = ("pending", "running")


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
    can_merge: bool
    into: str
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


class Look(Struct, frozen=True):
    """A job as it is now: what is told of it, and its steps. `version` is another one after each change of its files."""

    job: JobTold
    steps: list[Step]
    version: str


def news(before: Look | None, now: Look) -> list[dict[str, Any]]:
    """What is to be told of a job to somebody who knows how it was before."""
    if before is None:
        return [{"event": "job", "job": now.job, "version": now.version}, {"event": "steps", "steps": now.steps}]
    found: list[dict[str, Any]] = []
    if (before.job, before.version) != (now.job, now.version):
        found.append({"event": "job", "job": now.job, "version": now.version})
    known = {step.id: step for step in before.steps}
    return [*found, *[{"event": "step", "step": step} for step in now.steps if known.get(step.id) != step]]


def brief(job: Job) -> JobBrief:
    """A job in a list."""
    return JobBrief(**_brief(job))


def _brief(job: Job) -> dict[str, Any]:
    names = [name for name in JobBrief.__struct_fields__ if name != "is_good"]
    return {**{name: getattr(job, name) for name in names}, "is_good": is_good(job)}


def is_good(job: Job) -> bool | None:
    """Whether it ended well: None where it isn't over, or where nobody can say."""
    if job.state != "completed":
        return False if job.state == "failed" else None
    return not job.output.get("denied") and job.output.get("verified", True) is True


def told(job: Job, doing: str, approvals: list[Approval]) -> JobTold:
    """A job, with what came of it, what is done about it just now, and what waits for the person."""
    output = job.output
    report = next((output[name] for name in ("review_text", "triage_report", "summary") if output.get(name)), "")
    touched, is_back = bool(job.facts.get("touched")), job.facts.get("at") == 0
    return JobTold(
        **_brief(job),
        words=redacted(state_words(job)),
        why=redacted(job.why),
        report=redacted(str(report)),
        lines=lines(job) if job.is_over else [],
        verdict=output.get("verdict", ""),
        model=job.origin.get("model", ""),
        base=job.facts.get("base") or "",
        branch=job.facts.get("branch") or "",
        is_back=is_back and job.state not in UNDER_WAY,
        can_undo=touched and not is_back and job.state not in UNDER_WAY,
        can_cancel=not job.is_over,
        can_resume=job.state in ("failed", "waiting"),
        can_merge=job.state == "completed" and bool(output.get("commit")) and not (is_back or output.get("merged")),
        into=target_of(job),
        doing=doing,
        approvals=approvals,
    )


def without_secrets(entry: dict[str, Any]) -> Entry:
    """An entry without what isn't redacted when it is written: results are."""
    match entry["kind"]:
        case "judged":
            return {**entry, "call": {**entry["call"], "arguments": redacted(entry["call"].get("arguments", {}))}}
        case "said":
            return {**entry, "text": redacted(entry["text"])}
        case "replied":
            return {**entry, "parts": [{**part, "text": redacted(part.get("text", ""))} for part in entry.get("parts", ())]}
        case _:
            return entry
