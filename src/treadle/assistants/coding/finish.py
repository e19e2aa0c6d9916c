"""What a person does with the changes of a job: `treadle patch`, `merge`, `pr`, and `follow-up`, which goes on from them."""

import sys
from argparse import Namespace

from msgspec.structs import replace

from treadle import Host, Job, Jobs, SettingsError, settings_of
from treadle.assistants.coding import command
from treadle.assistants.coding.changes import checkpoints_of, whole_patch_of
from treadle.assistants.coding.checkout import folder_of, is_private
from treadle.assistants.coding.command import follow_up_arguments as follow_up_arguments  # a part of this command line
from treadle.assistants.coding.command import follow_up_given
from treadle.assistants.coding.deliver import message_of, published
from treadle.assistants.coding.follow import follow_up_kind
from treadle.assistants.coding.kinds import kind
from treadle.assistants.coding.show import target_of
from treadle.assistants.coding.undo import job_argument, job_meant
from treadle.workspace import Merged, merge_branch

NOTHING = "There is nothing to go by: say what is still to be done."
patch_arguments = merge_arguments = pr_arguments = job_argument


async def patch(args: Namespace, host: Host) -> int:
    """Write the patch: as it is into a file or a pipe, and to a terminal without what that would obey."""
    terminal, jobs = host.shown_at, Jobs(host.home.folder)
    job = job_meant(args.job, jobs)
    found = await whole_patch_of(job, checkpoints_of(job, jobs))
    if terminal.width is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(found)
        sys.stdout.buffer.flush()
    else:
        for line in found.decode(errors="replace").splitlines():
            terminal.line(line)
    return 0


async def merge(args: Namespace, host: Host) -> int:
    """Merge the job's branch, or say why not."""
    jobs = Jobs(host.home.folder)
    job = job_meant(args.job, jobs)
    host.shown_at.tell(merge_words(job, await merge_job(job.id, jobs)))
    return 0


async def merge_job(job_id: str, jobs: Jobs) -> Merged:
    """Merge a job's branch into the branch that its changes are for. Raises a sentence where that can't be, and changes nothing."""
    with jobs.held(job_id) as job, jobs.alone_in(job.workspace):
        branch, into = _branches(job)
        folder = folder_of(job)
        summary = message_of(str(job.output.get("summary", "")), job.title)
        merged = await merge_branch(
            folder,
            branch,
            into,
            f"Merge branch '{branch}'\n\n{summary}",
            files=job.output.get("files", ()),
            unsafe=not settings_of(folder).commands.sandbox,
        )
        jobs.save(replace(job, output={**job.output, "merged": f"into {into}, at {merged.commit[:10]}"}))
    return merged


def merge_words(job: Job, merged: Merged) -> str:
    """What came of a merge, in a sentence."""
    branch = job.facts["branch"]
    if not merged.is_new:
        return f"{merged.into} has all of {branch} already, at {merged.commit[:10]}."
    return f"Merged {branch} into {merged.into}, which is at {merged.commit[:10]} now. Nothing was pushed."


def _branches(job: Job) -> tuple[str, str]:
    """The branch of a job and the one that its changes are for. Raises a sentence where there are none."""
    if not job.is_over:
        raise SettingsError(f"Job {job.id} is {job.state}: wait until it is over, or cancel it.")
    branch, into = str(job.facts.get("branch") or ""), target_of(job)
    if not branch:
        raise SettingsError(f"Job {job.id} has no branch, since its folder is no repository; `treadle patch` writes its changes.")
    if is_private(job) and not job.facts.get("delivered"):
        raise SettingsError(f"Job {job.id} has committed nothing on {branch}; `treadle patch {job.id}` writes its changes.")
    if not into:
        raise SettingsError(f"Job {job.id} began on no branch, so it isn't known where {branch} belongs. Merge it with git.")
    return branch, into


async def pr(args: Namespace, host: Host) -> int:
    """Push the job's branch and open a pull request, or write its description down."""
    terminal, jobs = host.shown_at, Jobs(host.home.folder)
    with jobs.held(job_meant(args.job, jobs).id) as job:
        _branches(job)
        if "commit" not in job.output:
            raise SettingsError(f"Job {job.id} has committed nothing, so there is nothing to push.")
        folder = folder_of(job)
        done = await published(folder, settings_of(folder), job, job.output, pull_request=True)
        jobs.save(replace(job, output={**job.output, **done}))
    for line in done.values():
        terminal.tell(line)
    return 0


async def follow_up(args: Namespace, host: Host) -> int:
    """Make a new job that goes on from this one, and carry it out."""
    job = Jobs(host.home.folder).get(args.job)
    name = follow_up_kind(job)
    given = follow_up_given(args, name, job.id)
    if not given.description.strip():
        raise SettingsError(NOTHING)
    args.workspace = job.workspace
    return await command.run(args, host, kind(name).work, given)
