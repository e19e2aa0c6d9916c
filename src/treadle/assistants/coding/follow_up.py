"""Follow-ups: jobs that continue from another one, on a branch from its branch, with a summary of what it did."""

from typing import Any

from treadle.assistant import Job, JobContext, Jobs
from treadle.assistants.coding import prompts
from treadle.assistants.coding.checkout import has_private_copy
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.inputs import truncate_middle
from treadle.assistants.coding.job_report import target_branch_of
from treadle.errors import SettingsError

_FOLLOW_UP_KINDS = {"build": "build", "debug": "debug", "review": "build", "triage": "debug"}


def follow_up_kind(job: Job) -> str:
    """Return the kind of job that continues from a job. Raises if none can."""
    if job.assistant != NAME or job.kind not in _FOLLOW_UP_KINDS:
        raise SettingsError(f"Job {job.id} is no coding job, so nothing can go on from it.")
    if not job.is_over:
        raise SettingsError(f"Job {job.id} is {job.state}: another one can go on from it when it is over.")
    return _FOLLOW_UP_KINDS[job.kind]


def facts_from_earlier_job(job_id: str, desk: JobContext) -> dict[str, Any]:
    """Return what a follow-up has to know about the earlier job: stored with it, since that job may be deleted meanwhile."""
    job, mine = Jobs(desk.host.home.folder).get(job_id), desk.job
    follow_up_kind(job)
    if job.user != mine.user or job.workspace != mine.workspace:
        raise SettingsError(f"Job {job_id} belongs to another user or lies in another folder, so nothing can go on from it here.")
    facts: dict[str, Any] = {"earlier": _to_prompt(job)}
    if job.facts.get("branch") and (job.facts.get("delivered") or not has_private_copy(job)):
        into = target_branch_of(job)
        return {**facts, "begins_from": into if job.output.get("merged") else job.facts["branch"], "into": into}
    return facts


def _to_prompt(job: Job) -> str:
    """Return the earlier request and its outcome, for a model."""
    output = job.output
    report = next((str(output[name]) for name in ("summary", "review_text", "triage_report") if output.get(name)), job.why)
    files = ", ".join(output.get("files", ()))
    parts = {
        "Its task": job.title,
        "Its result": truncate_middle(report),
        "Files it changed": files,
        "Tests": output.get("tests"),
    }
    return "\n".join([prompts.EARLIER, *[f"{name}: {text}" for name, text in parts.items() if text]])
