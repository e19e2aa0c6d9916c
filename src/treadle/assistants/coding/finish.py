"""Commands for a job's changes: `treadle patch`, `merge`, `pr`, and `follow-up`, which continues from them."""

import sys
from argparse import ArgumentParser, Namespace

from msgspec.structs import asdict, replace

from treadle.assistant import Host, Job, Jobs, settings_for
from treadle.assistants.coding import command
from treadle.assistants.coding.checkout import checkpoints_of, git_patch_of, has_private_copy, source_folder_of
from treadle.assistants.coding.command import follow_up_arguments as follow_up_arguments  # a part of this command line
from treadle.assistants.coding.command import follow_up_inputs
from treadle.assistants.coding.delivery import commit_message, publish_branch
from treadle.assistants.coding.follow_up import follow_up_kind
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.assistants.coding.job_report import target_branch_of
from treadle.assistants.coding.undo import add_job_argument, find_job
from treadle.errors import SettingsError
from treadle.workspace import MergeResult, merge_branch

NO_TASK = "There is nothing to go by: say what is still to be done."
patch_arguments = add_job_argument


def merge_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle merge` and `treadle pr`."""
    add_job_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


pr_arguments = merge_arguments


async def patch(args: Namespace, host: Host) -> int:
    """Write the patch: as it is to a file or a pipe, and to a terminal without control characters."""
    terminal, jobs = host.command_terminal, Jobs(host.home.folder)
    job = find_job(args.job, jobs)
    found = await git_patch_of(job, checkpoints_of(job, jobs))
    if terminal.width is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(found)
        sys.stdout.buffer.flush()
    else:
        for line in found.decode(errors="replace").splitlines():
            terminal.line(line)
    return 0


async def merge(args: Namespace, host: Host) -> int:
    """Merge the job's branch, or print why not."""
    jobs = Jobs(host.home.folder)
    job = find_job(args.job, jobs)
    merged = await merge_job(job.id, jobs)
    if args.json:
        host.show({"job": job.id, "branch": job.facts["branch"], **asdict(merged)})
    else:
        host.command_terminal.tell(format_merge(job, merged))
    return 0


async def merge_job(job_id: str, jobs: Jobs) -> MergeResult:
    """Merge a job's branch into its target branch. Raises, and changes nothing, if that isn't possible."""
    with jobs.held(job_id) as job, jobs.alone_in(job.workspace):
        branch, into = _merge_branches(job)
        folder = source_folder_of(job)
        summary = commit_message(str(job.output.get("summary", "")), job.title)
        merged = await merge_branch(
            folder,
            branch,
            into,
            f"Merge branch '{branch}'\n\n{summary}",
            files=job.output.get("files", ()),
            unsafe=not settings_for(folder).commands.sandbox,
        )
        jobs.save(replace(job, output={**job.output, "merged": f"into {into}, at {merged.commit[:10]}"}))
    return merged


def format_merge(job: Job, merged: MergeResult) -> str:
    """Describe the result of a merge in a sentence."""
    branch = job.facts["branch"]
    if not merged.is_new:
        return f"{merged.into} has all of {branch} already, at {merged.commit[:10]}."
    return f"Merged {branch} into {merged.into}, which is at {merged.commit[:10]} now. Nothing was pushed."


def _merge_branches(job: Job) -> tuple[str, str]:
    """Return the branch of a job and its target branch. Raises if there are none."""
    if not job.is_over:
        raise SettingsError(f"Job {job.id} is {job.state}: wait until it is over, or cancel it.")
    branch, into = str(job.facts.get("branch") or ""), target_branch_of(job)
    if not branch:
        raise SettingsError(f"Job {job.id} has no branch, since its folder is no repository; `treadle patch` writes its changes.")
    if has_private_copy(job) and not job.facts.get("delivered"):
        raise SettingsError(f"Job {job.id} has committed nothing on {branch}; `treadle patch {job.id}` writes its changes.")
    if not into:
        raise SettingsError(f"Job {job.id} began on no branch, so it isn't known where {branch} belongs. Merge it with git.")
    return branch, into


async def pr(args: Namespace, host: Host) -> int:
    """Push the job's branch and open a pull request, or write down its description."""
    terminal, jobs = host.command_terminal, Jobs(host.home.folder)
    with jobs.held(find_job(args.job, jobs).id) as job:
        _merge_branches(job)
        if "commit" not in job.output:
            raise SettingsError(f"Job {job.id} has committed nothing, so there is nothing to push.")
        folder = source_folder_of(job)
        done = await publish_branch(folder, settings_for(folder), job, job.output, pull_request=True)
        jobs.save(replace(job, output={**job.output, **done}))
    if args.json:
        host.show({"job": job.id, **done})
        return 0
    for line in done.values():
        terminal.tell(line)
    return 0


async def follow_up(args: Namespace, host: Host) -> int:
    """Create a new job that continues from this one, and run it."""
    job = Jobs(host.home.folder).find(args.job)
    name = follow_up_kind(job)
    given = follow_up_inputs(args, name, job.id)
    if not given.description.strip():
        raise SettingsError(NO_TASK)
    args.workspace = job.workspace
    return await command.run(args, host, find_coding_job_kind(name).work, given)
