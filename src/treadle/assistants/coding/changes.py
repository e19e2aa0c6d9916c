"""What a job changed, so far or in all, and how that is taken back: for the commands and the page alike."""

import shutil
from asyncio import to_thread
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle import Job, Jobs, SettingsError, settings_of
from treadle.assistants.coding.checkout import bring_back, copy_for, folder_of, is_private
from treadle.workspace import Change, Checkpoints, commit_paths, repository


class Span(Struct, frozen=True):
    """The states of the folder that a job went through; `at` is the one it is in now, after what was taken back."""

    states: tuple[str, ...]
    at: int


class TakenBack(Struct, frozen=True):
    """What was taken back; `words` say where the commit is, where there is one."""

    changes: tuple[Change, ...]
    words: str = ""


def checkpoints_of(job: Job, jobs: Jobs, folder: Path | None = None) -> Checkpoints:
    """Its states, of the folder that it changed or of another checkout. Raises a sentence where it has changed nothing."""
    if "before" not in job.facts:
        raise SettingsError(f"Job {job.id} has changed nothing.")
    own = jobs.workspace_of(job.id) if is_private(job) else folder_of(job)
    return Checkpoints(folder or own, jobs.folder_of(job.id) / "checkpoints", owner=own)


async def span_of(job: Job, checkpoints: Checkpoints) -> Span:
    """From before its first change to after its last; of one that is under way, to now."""
    states = [point.id for point in await checkpoints.list()]
    is_running = job.state == "running"
    after = states[-1] if is_running else str(job.facts.get("after") or states[-1])  # the last after a call of its own, if it died
    states = states[states.index(job.facts["before"]) : len(states) - states[::-1].index(after)]
    last, at = len(states) - 1, None if is_running else job.facts.get("at")
    return Span(tuple(states), last if at is None else min(int(at), last))


async def patch_of(job: Job, checkpoints: Checkpoints, *, whole: bool = True) -> str:
    """What it changed, as a unified diff; not `whole`, without what was taken back since."""
    touched, span = job.facts.get("touched", ()), await span_of(job, checkpoints)
    until = len(span.states) - 1 if whole else span.at
    return await checkpoints.diff(span.states[0], span.states[until], touched) if touched and until else ""


async def whole_patch_of(job: Job, checkpoints: Checkpoints) -> bytes:
    """What it changed, without what was taken back since, as a patch that `git apply` takes."""
    touched, span = job.facts.get("touched", ()), await span_of(job, checkpoints)
    return await checkpoints.patch(span.states[0], span.states[span.at], touched) if touched and span.at else b""


async def take_back(job_id: str, jobs: Jobs, *, steps: int | None = 1, force: bool = False) -> TakenBack:
    """Put the files back as they were `steps` changes ago, or before the job. Raises `ChangedSince` where they are others now.

    They are put back where the changes are: in the person's folder, where that has them, else on the job's branch.
    """
    with jobs.held(job_id) as job:
        checkpoints = checkpoints_of(job, jobs)
        span = await span_of(replace(job, state="waiting"), checkpoints)  # nobody else carries it out: we hold it
        target = 0 if steps is None else max(0, span.at - steps)
        then, now = span.states[target], span.states[span.at]
        if not is_private(job) or await _is_in_folder(job):
            there = checkpoints_of(job, jobs, folder_of(job))
            changes = await there.restore(then, expected=now, paths=job.facts.get("touched", ()), force=force)
            words = await _where(job) if job.facts.get("branch") else ""
        else:
            changes, words = await _take_back_in_copy(job, jobs, then, now, force=force)
        jobs.save(replace(job, facts={**job.facts, "at": target, "after": span.states[-1]}))
    return TakenBack(changes, words)


async def _is_in_folder(job: Job) -> bool:
    """Whether the person's folder has what a job changed in a copy: it was merged, or they have checked out its branch."""
    if job.output.get("merged"):
        return True
    found = await repository(folder_of(job), unsafe=_is_unsafe(job))
    return found is not None and found.branch == job.facts["branch"]


async def _take_back_in_copy(job: Job, jobs: Jobs, then: str, now: str, *, force: bool) -> tuple[tuple[Change, ...], str]:
    """Put files back in the copy, which is made anew where it is gone, and commit that where the job has committed."""
    copy, touched, unsafe = jobs.workspace_of(job.id), job.facts.get("touched", ()), _is_unsafe(job)
    is_kept = copy.is_dir()
    if not is_kept:
        if not job.facts.get("delivered"):  # its changes are in no checkout: only the patch has them
            back = await checkpoints_of(job, jobs).changes(now, then) if now != then else ()
            return tuple([change for change in back if change.path in touched]), ""
        await copy_for(job, copy, unsafe=unsafe)
    try:
        changes = await checkpoints_of(job, jobs).restore(then, expected=now, paths=touched, force=force)
        if not changes or not job.facts.get("delivered"):
            return changes, ""
        message = f"Take back changes of {job.id}\n\n{job.title}"
        await commit_paths(copy, [change.path for change in changes], message, f"{job.id}-{now}-{then}", unsafe=unsafe)
        commit = await bring_back(job, copy, unsafe=unsafe)
    finally:
        if not is_kept:
            await to_thread(shutil.rmtree, jobs.drop_workspace(job.id))
    return changes, f"The branch {job.facts['branch']} is at {commit[:10]} now; its earlier commits stay."


def _is_unsafe(job: Job) -> bool:
    return not settings_of(folder_of(job)).commands.sandbox


async def _where(job: Job) -> str:
    """Where the job's commits are, for somebody whose folder had its changes."""
    branch, commit = job.facts["branch"], job.output.get("commit")
    return f"The commit {commit[:10]} stays on the branch {branch}." if commit else f"The branch {branch} stays."
