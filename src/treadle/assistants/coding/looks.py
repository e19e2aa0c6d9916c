"""A job as programs are told of it: in a list, in full, and what is news of it to somebody who knew it before. Pure."""

from typing import Any

from msgspec import Struct

from treadle import Job
from treadle.assistants.coding.account import Entry, Step
from treadle.assistants.coding.show import lines, state_words
from treadle.routes import redacted

UNDER_WAY = ("pending", "running")


class Look(Struct, frozen=True):
    """A job as it is now: what is told of it, and its steps. `version` is another one after each change of its files."""

    job: dict[str, Any]
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


def brief(job: Job) -> dict[str, Any]:
    """A job in a list."""
    return {
        "id": job.id,
        "kind": job.kind,
        "title": job.title,
        "state": job.state,
        "is_good": is_good(job),
        "workspace": job.workspace,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
    }


def is_good(job: Job) -> bool | None:
    """Whether it ended well: None where it isn't over, or where nobody can say."""
    if job.state != "completed":
        return False if job.state == "failed" else None
    return not job.output.get("denied") and job.output.get("verified", True) is True


def told(job: Job) -> dict[str, Any]:
    """A job, with what came of it."""
    output = job.output
    report = next((output[name] for name in ("review_text", "triage_report", "summary") if output.get(name)), "")
    touched, is_back = bool(job.facts.get("touched")), job.facts.get("at") == 0
    return {
        **brief(job),
        "words": redacted(state_words(job)),
        "why": redacted(job.why),
        "report": redacted(str(report)),
        "lines": lines(job) if job.is_over else [],
        "verdict": output.get("verdict", ""),
        "model": job.origin.get("model", ""),
        "base": job.facts.get("base") or "",
        "branch": job.facts.get("branch") or "",
        "is_back": is_back and job.state not in UNDER_WAY,
        "can_undo": touched and not is_back and job.state not in UNDER_WAY,
        "can_cancel": not job.is_over,
        "can_resume": job.state in ("failed", "waiting"),
    }


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
