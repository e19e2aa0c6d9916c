"""The folder that a job changes: a private copy of the user's repository, or the folder itself if it is no repository.

A copy is made once, with the user's files as they are; a resumed job continues in it. The user's own checkout is
never changed: commits are fetched into their repository, on the job's branch.

Commands and page get a job's changes from here, so far or in total, and undo them here.
"""

import re
import shutil
from asyncio import to_thread
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle.assistant import Job, JobContext, Jobs, Settings, settings_for
from treadle.errors import SettingsError
from treadle.files import check_workspace
from treadle.workspace import (
    CheckpointChange,
    Checkpoints,
    Repository,
    commit_paths,
    copy_repository,
    fetch_branch,
    read_repository,
)

_MAX_NAMED = 5


def source_folder_of(job: Job) -> Path:
    """Return the user's folder that a job is for. Raises if it is gone."""
    folder = check_workspace(job.workspace)
    if not folder.is_dir():
        raise SettingsError(f"The folder {folder} of job {job.id} isn't there any more.")
    return folder


def has_private_copy(job: Job) -> bool:
    """Return whether a job works, or has worked, in a copy. Jobs started by earlier releases changed the folder itself."""
    return bool(job.facts.get("is_private"))


def job_branch_name(job: Job, settings: Settings) -> str:
    """Return the branch that a job works on, named after its title and its id."""
    words = re.findall(r"[a-z0-9]+", job.title.lower())[:6]
    return f"{settings.git.branch_prefix}{'-'.join(words) or job.kind}-{job.id.rpartition('-')[2][:4]}"


def note_progress(desk: JobContext, words: str) -> None:
    """Print a progress note between turns at the terminal, if there is one."""
    if desk.host.terminal is not None:
        desk.host.terminal.note(words)


async def prepare_working_folder(desk: JobContext, source: Path, settings: Settings, *, leaves: bool) -> Path:
    """Return the folder that a job changes. `leaves` says that its branch is to be pushed, which requires a repository."""
    job, unsafe = desk.job, not settings.commands.sandbox
    if "before" in job.facts and not has_private_copy(job):
        return source
    if has_private_copy(job):
        if not desk.workspace.is_dir():
            await copy_repository_for(job, desk.workspace, unsafe=unsafe)
        return desk.workspace
    found = await read_repository(source, remote=settings.git.remote, unsafe=unsafe)
    if found is None:
        if leaves:
            raise SettingsError(f"{source} is not the root of a repository, so nothing can be pushed from it.")
        return source
    await _create_copy(desk, found, settings, unsafe=unsafe)
    return desk.workspace


async def _create_copy(desk: JobContext, found: Repository, settings: Settings, *, unsafe: bool) -> None:
    """Create the copy, on the job's own branch. A follow-up starts from the earlier job's branch."""
    start = str(desk.job.facts.get("begins_from") or "")
    branch = job_branch_name(desk.job, settings)
    note_progress(desk, "Copying the repository, which the job works in …")
    begin = await copy_repository_for(desk.job, desk.workspace, branch=branch, start=start, unsafe=unsafe)
    is_current = begin == (found.head or "")
    dirty = list(found.dirty) if is_current else []
    if found.dirty:
        more = f" and {len(found.dirty) - _MAX_NAMED} more" if len(found.dirty) > _MAX_NAMED else ""
        named = f"{', '.join(found.dirty[:_MAX_NAMED])}{more}"
        said = "The job sees these changes; yours stay as they are" if is_current else "The job doesn't see these changes"
        note_progress(desk, f"Not committed: {named}. {said}.")
    desk.note(base=start or found.branch, base_commit=begin or None, dirty=dirty, branch=branch, is_private=True)


async def copy_repository_for(job: Job, folder: Path, *, branch: str = "", start: str = "", unsafe: bool = False) -> str:
    """Create the copy of a job, on its branch if it has one already; return the commit that it starts at."""
    return await copy_repository(source_folder_of(job), folder, branch or job.facts["branch"], start=start, unsafe=unsafe)


async def fetch_job_branch(job: Job, copy: Path, *, unsafe: bool = False) -> str:
    """Fetch a job's commits into the user's repository; return the last one, empty if there is none."""
    return await fetch_branch(source_folder_of(job), copy, job.facts["branch"], since=job.facts.get("base_commit"), unsafe=unsafe)


class CheckpointSpan(Struct, frozen=True):
    """The checkpoints of a job's folder; `at` is the current one, after undoing."""

    states: tuple[str, ...]
    at: int


class UndoneChanges(Struct, frozen=True):
    """The undone changes; `words` say where the commit is, if there is one."""

    changes: tuple[CheckpointChange, ...]
    words: str = ""


def checkpoints_of(job: Job, jobs: Jobs, folder: Path | None = None) -> Checkpoints:
    """Return a job's checkpoints, of the folder that it changed or of another checkout. Raises if it has changed nothing."""
    if "before" not in job.facts:
        raise SettingsError(f"Job {job.id} has changed nothing.")
    own = jobs.workspace_of(job.id) if has_private_copy(job) else source_folder_of(job)
    return Checkpoints(folder or own, jobs.folder_of(job.id) / "checkpoints", owner=own)


async def span_of(job: Job, checkpoints: Checkpoints) -> CheckpointSpan:
    """Return the checkpoints from before its first change to after its last; of a running job, to now."""
    states = [point.id for point in await checkpoints.list()]
    is_running = job.state == "running"
    after = states[-1] if is_running else str(job.facts.get("after") or states[-1])  # the last after a call of its own, if it died
    states = states[states.index(job.facts["before"]) : len(states) - states[::-1].index(after)]
    last, at = len(states) - 1, None if is_running else job.facts.get("at")
    return CheckpointSpan(tuple(states), last if at is None else min(int(at), last))


async def patch_of(job: Job, checkpoints: Checkpoints, *, whole: bool = True) -> str:
    """Return its changes as a unified diff; unless `whole`, without those undone since."""
    touched, span = job.facts.get("touched", ()), await span_of(job, checkpoints)
    until = len(span.states) - 1 if whole else span.at
    return await checkpoints.diff(span.states[0], span.states[until], touched) if touched and until else ""


async def git_patch_of(job: Job, checkpoints: Checkpoints) -> bytes:
    """Return its changes, without those undone since, as a patch for `git apply`."""
    touched, span = job.facts.get("touched", ()), await span_of(job, checkpoints)
    return await checkpoints.patch(span.states[0], span.states[span.at], touched) if touched and span.at else b""


async def undo_changes(job_id: str, jobs: Jobs, *, steps: int | None = 1, force: bool = False) -> UndoneChanges:
    """Restore the files as they were `steps` changes ago, or before the job. Raises `ChangedSince` if they were changed since.

    They are restored where the changes are: in the user's folder if it has them, else on the job's branch.
    """
    with jobs.held(job_id) as job:
        checkpoints = checkpoints_of(job, jobs)
        span = await span_of(replace(job, state="waiting"), checkpoints)  # nobody else carries it out: we hold it
        target = 0 if steps is None else max(0, span.at - steps)
        then, now = span.states[target], span.states[span.at]
        if not has_private_copy(job) or await _is_in_user_folder(job):
            there = checkpoints_of(job, jobs, source_folder_of(job))
            changes = await there.restore(then, expected=now, paths=job.facts.get("touched", ()), force=force)
            words = await _describe_commits(job) if job.facts.get("branch") else ""
        else:
            changes, words = await _undo_in_copy(job, jobs, then, now, force=force)
        jobs.save(replace(job, facts={**job.facts, "at": target, "after": span.states[-1]}))
    return UndoneChanges(changes, words)


async def _is_in_user_folder(job: Job) -> bool:
    """Return whether the user's folder has what a job changed in a copy: it was merged, or its branch is checked out."""
    if job.output.get("merged"):
        return True
    found = await read_repository(source_folder_of(job), unsafe=_is_unsafe(job))
    return found is not None and found.branch == job.facts["branch"]


async def _undo_in_copy(job: Job, jobs: Jobs, then: str, now: str, *, force: bool) -> tuple[tuple[CheckpointChange, ...], str]:
    """Restore files in the copy, which is recreated if it is gone, and commit that if the job has committed."""
    copy, touched, unsafe = jobs.workspace_of(job.id), job.facts.get("touched", ()), _is_unsafe(job)
    is_kept = copy.is_dir()
    if not is_kept:
        if not job.facts.get("delivered"):  # its changes are in no checkout: only the patch has them
            back = await checkpoints_of(job, jobs).changes(now, then) if now != then else ()
            return tuple([change for change in back if change.path in touched]), ""
        await copy_repository_for(job, copy, unsafe=unsafe)
    try:
        changes = await checkpoints_of(job, jobs).restore(then, expected=now, paths=touched, force=force)
        if not changes or not job.facts.get("delivered"):
            return changes, ""
        message = f"Take back changes of {job.id}\n\n{job.title}"
        await commit_paths(copy, [change.path for change in changes], message, f"{job.id}-{now}-{then}", unsafe=unsafe)
        commit = await fetch_job_branch(job, copy, unsafe=unsafe)
    finally:
        if not is_kept:
            await to_thread(shutil.rmtree, jobs.drop_workspace(job.id))
    return changes, f"The branch {job.facts['branch']} is at {commit[:10]} now; its earlier commits stay."


def _is_unsafe(job: Job) -> bool:
    return not settings_for(source_folder_of(job)).commands.sandbox


async def _describe_commits(job: Job) -> str:
    """Describe where the job's commits are, for a user whose folder had its changes."""
    branch, commit = job.facts["branch"], job.output.get("commit")
    return f"The commit {commit[:10]} stays on the branch {branch}." if commit else f"The branch {branch} stays."
