"""The folder that a job changes: a private copy of the user's repository, or the folder itself if it is no repository.

A copy is made once, with the user's files as they are; a resumed job continues in it. The user's own checkout is
never changed: commits are fetched into their repository, on the job's branch.
"""

import re
from pathlib import Path

from treadle.assistant import Job, JobContext, Settings
from treadle.errors import SettingsError
from treadle.files import check_workspace
from treadle.workspace import Repository, copy_repository, fetch_branch, read_repository

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
