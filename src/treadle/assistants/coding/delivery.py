"""Delivery of a job's changes: which they are, the commit on its branch, the push, and the job's output."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from treadle import TreadleError
from treadle.assistant import Job, JobResult, Settings
from treadle.assistants.coding.answers import COMPLETION_PHRASE, WorkReport
from treadle.assistants.coding.checkout import fetch_job_branch
from treadle.assistants.coding.inputs import BuildInputs, DebugInputs
from treadle.assistants.coding.job_environment import JobEnvironment, git_rules
from treadle.assistants.coding.job_report import target_branch_of
from treadle.assistants.coding.verification import Verification
from treadle.workspace import commit_paths, find_unsuitable, publish, read_repository


async def collect_changes(room: JobEnvironment) -> dict[str, Any]:
    """Return what the job's own calls have changed; that state is stored, so that later changes by a person aren't included."""
    desk = room.desk
    with suppress(TreadleError):  # the commits stay in the copy
        await _fetch_commits(room)
    after = await room.checkpoints.take("after the job")
    desk.note(after=after, at=None)
    touched = set(desk.job.facts.get("touched", ()))
    changes = await room.checkpoints.changes(desk.job.facts["before"], after)
    paths = dict.fromkeys(path for change in changes for path in (change.was, change.path) if path)
    files = [path for path in paths if path in touched]
    has_branch = files or desk.job.facts.get("delivered")
    output = {"files": files, "branch": desk.job.facts.get("branch", "") if has_branch else ""}
    others = [path for path in paths if path not in touched]
    return {**output, "others": others} if others else output


async def deliver_changes(
    room: JobEnvironment,
    given: BuildInputs | DebugInputs,
    report: WorkReport,
    proof: Verification,
    more: Mapping[str, object],
) -> JobResult:
    """Commit the changes, push them if requested, and return the job's result, whatever goes wrong on the way.

    `more` is added to the job's output.
    """
    output: dict[str, Any] = {
        "summary": report.summary,
        "verified": proof.holds,
        "denied": proof.denied,
        "tests": proof.why,
        **await collect_changes(room),
        **more,
    }
    problem = ""
    try:
        if report.done and room.settings.git.commit and output["branch"]:
            output |= await _commit(room, output)
            if given.push or given.pr:
                output |= await publish_branch(room.source, room.settings, room.desk.job, output, pull_request=given.pr)
    except TreadleError as error:
        problem = str(error)
    spent = await room.desk.usage()
    output["usage"] = {**msgspec.to_builtins(spent), "total_tokens": spent.total_tokens}
    if not report.done:
        return JobResult("failed", output, "The agent gave up: " + report.summary)
    if isinstance(given, DebugInputs) and not output["files"]:
        return JobResult("failed", output, f"Nothing was changed. The model said: {report.summary}")
    if problem:
        return JobResult("failed", output, f"The work is done and kept, but: {problem}")
    return JobResult("completed", output, "" if proof.holds else f"Not verified: {proof.why}.")


async def _commit(room: JobEnvironment, output: dict[str, Any]) -> dict[str, Any]:
    """Commit what the job changed, on its own branch and on no other."""
    found = await read_repository(room.folder, unsafe=room.unsafe)
    branch = output["branch"]
    if found is None or found.branch != branch:
        now = found.branch if found and found.branch else "no branch"
        raise TreadleError(f"the folder is on {now} now, and not on {branch}. Nothing more was committed.")
    message = commit_message(output["summary"], room.desk.job.title)
    changes = [path for path in output["files"] if path in found.dirty]
    left_out = await find_unsuitable(room.folder, changes, unsafe=room.unsafe)
    commit = await commit_paths(room.folder, output["files"], message, f"{room.desk.job.id}-end", unsafe=room.unsafe)
    await _fetch_commits(room)
    return {"commit": commit or "", **({"left_out": left_out} if left_out else {})}


async def _fetch_commits(room: JobEnvironment) -> None:
    """Fetch what is committed so far into the user's repository."""
    if room.is_private and (commit := await fetch_job_branch(room.desk.job, room.folder, unsafe=room.unsafe)):
        room.desk.note(delivered=commit)


async def publish_branch(
    folder: Path, settings: Settings, job: Job, output: dict[str, Any], *, pull_request: bool
) -> dict[str, str]:
    """Push a job's branch, with a pull request if requested; return the outcome of each as a sentence."""
    return await publish(
        folder,
        commit_message(output["summary"], job.title).partition("\n")[0],
        _pull_request_body(output),
        rules=git_rules(settings),
        pull_request=pull_request,
        branch=output["branch"],
        base=target_branch_of(job),
        unsafe=not settings.commands.sandbox,
    )


def commit_message(summary: str, otherwise: str) -> str:
    """Return a commit message: the first sentence as its title, and the whole summary below if there is more.

    "Task complete", which ends a task, says nothing of it: `otherwise` is the title then.
    """
    said = summary.strip()
    if said.rstrip(".!").casefold() == COMPLETION_PHRASE:
        said = ""
    words = " ".join((said or otherwise).split())
    title = words.partition(". ")[0].rstrip(".")[:72]
    if title.casefold() == COMPLETION_PHRASE:
        title = " ".join(otherwise.split())[:72]
    return title if title == words.rstrip(".") else f"{title}\n\n{said}".rstrip()


def _pull_request_body(output: dict[str, Any]) -> str:
    """Return a pull request's description."""
    files = "\n".join(f"- `{path}`" for path in output["files"])
    proof = f"{'Verified' if output['verified'] else 'Not verified'}: {output['tests']}."
    return f"{output['summary']}\n\n## Files\n{files}\n\n## Tests\n{proof}\n"
