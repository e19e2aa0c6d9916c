"""A follow-up: a job that goes on from another one, on a branch from that one's branch, with a summary of what was done there."""

from typing import Any

from treadle import Desk, Job, Jobs, SettingsError
from treadle.assistants.coding import prompts
from treadle.assistants.coding.checkout import is_private
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.given import shortened
from treadle.assistants.coding.show import target_of

_KINDS = {"build": "build", "debug": "debug", "review": "build", "triage": "debug"}


def follow_up_kind(job: Job) -> str:
    """The kind of work that goes on from a job. Raises a sentence where none can."""
    if job.assistant != NAME or job.kind not in _KINDS:
        raise SettingsError(f"Job {job.id} is no coding job, so nothing can go on from it.")
    if not job.is_over:
        raise SettingsError(f"Job {job.id} is {job.state}: another one can go on from it when it is over.")
    return _KINDS[job.kind]


def earlier_facts(job_id: str, desk: Desk) -> dict[str, Any]:
    """What a follow-up has to know of the job before it: kept with it, since that one may be deleted meanwhile."""
    job, mine = Jobs(desk.host.home.folder).get(job_id), desk.job
    follow_up_kind(job)
    if job.user != mine.user or job.workspace != mine.workspace:
        raise SettingsError(f"Job {job_id} is somebody else's or in another folder, so nothing can go on from it here.")
    facts: dict[str, Any] = {"earlier": _told(job)}
    if job.facts.get("branch") and (job.facts.get("delivered") or not is_private(job)):
        into = target_of(job)
        return {**facts, "begins_from": into if job.output.get("merged") else job.facts["branch"], "into": into}
    return facts


def _told(job: Job) -> str:
    """The request and its outcome, for a model."""
    output = job.output
    report = next((str(output[name]) for name in ("summary", "review_text", "triage_report") if output.get(name)), job.why)
    files = ", ".join(output.get("files", ()))
    parts = {"Its task": job.title, "What came of it": shortened(report), "Files it changed": files, "Tests": output.get("tests")}
    return "\n".join([prompts.EARLIER, *[f"{name}: {text}" for name, text in parts.items() if text]])
