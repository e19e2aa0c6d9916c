"""Where a job changes files: in a private copy of the person's repository, or in the folder itself where that is no repository.

A copy is made once, with the person's files as they are; a job that is taken up again goes on in it. The person's own checkout is
never changed: commits are fetched into their repository, on the job's branch.
"""

import re
from pathlib import Path

from treadle import Desk, Job, Settings, SettingsError
from treadle.files import check_workspace
from treadle.workspace import Repository, copy_repository, fetch_branch, repository

_MOST_NAMED = 5


def folder_of(job: Job) -> Path:
    """The person's folder that a job is for. Raises a sentence where that is gone."""
    folder = check_workspace(job.workspace)
    if not folder.is_dir():
        raise SettingsError(f"The folder {folder} of job {job.id} isn't there any more.")
    return folder


def is_private(job: Job) -> bool:
    """Whether a job works, or has worked, in a copy. Those begun by earlier releases changed the folder itself."""
    return bool(job.facts.get("is_private"))


def branch_of(job: Job, settings: Settings) -> str:
    """The branch that a job works on, by its title and its id."""
    words = re.findall(r"[a-z0-9]+", job.title.lower())[:6]
    return f"{settings.git.branch_prefix}{'-'.join(words) or job.kind}-{job.id.rpartition('-')[2][:4]}"


def say(desk: Desk, words: str) -> None:
    """Show what happens between turns at the terminal, if there is one."""
    if desk.host.terminal is not None:
        desk.host.terminal.note(words)


async def working_folder(desk: Desk, source: Path, settings: Settings, *, leaves: bool) -> Path:
    """The folder that a job changes. `leaves` says that its branch is to be pushed, which takes a repository."""
    job, unsafe = desk.job, not settings.commands.sandbox
    if "before" in job.facts and not is_private(job):
        return source
    if is_private(job):
        if not desk.workspace.is_dir():
            await copy_for(job, desk.workspace, unsafe=unsafe)
        return desk.workspace
    found = await repository(source, remote=settings.git.remote, unsafe=unsafe)
    if found is None:
        if leaves:
            raise SettingsError(f"{source} is not the root of a repository, so nothing can be pushed from it.")
        return source
    await _begin(desk, found, settings, unsafe=unsafe)
    return desk.workspace


async def _begin(desk: Desk, found: Repository, settings: Settings, *, unsafe: bool) -> None:
    """Make the copy, on a branch of the job's own. A follow-up begins where the earlier job's branch is."""
    start = str(desk.job.facts.get("begins_from") or "")
    branch = branch_of(desk.job, settings)
    say(desk, "Copying the repository, which the job works in …")
    begin = await copy_for(desk.job, desk.workspace, branch=branch, start=start, unsafe=unsafe)
    is_current = begin == (found.head or "")
    dirty = list(found.dirty) if is_current else []
    if found.dirty:
        more = f" and {len(found.dirty) - _MOST_NAMED} more" if len(found.dirty) > _MOST_NAMED else ""
        named = f"{', '.join(found.dirty[:_MOST_NAMED])}{more}"
        said = "The job sees these changes; yours stay as they are" if is_current else "The job doesn't see these changes"
        say(desk, f"Not committed: {named}. {said}.")
    desk.note(base=start or found.branch, base_commit=begin or None, dirty=dirty, branch=branch, is_private=True)


async def copy_for(job: Job, folder: Path, *, branch: str = "", start: str = "", unsafe: bool = False) -> str:
    """Make the copy of a job, on its branch if it has one already; return the commit that it begins at."""
    return await copy_repository(folder_of(job), folder, branch or job.facts["branch"], start=start, unsafe=unsafe)


async def bring_back(job: Job, copy: Path, *, unsafe: bool = False) -> str:
    """Have the person's repository take over the commits of a job; the last of them, nothing where there is none."""
    return await fetch_branch(folder_of(job), copy, job.facts["branch"], since=job.facts.get("base_commit"), unsafe=unsafe)
