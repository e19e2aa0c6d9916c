"""`treadle diff` and `treadle undo`: show what a job changed and nothing else, and undo it, step by step or all of it."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from treadle.assistant import Host, Job, Jobs, style_diff
from treadle.assistants.coding.checkout import checkpoints_of, patch_of, span_of, undo_changes
from treadle.assistants.coding.command import NAME
from treadle.errors import SettingsError
from treadle.workspace import ChangedSince, CheckpointChange, Checkpoints

UNDO_VERBS = {"added": "Brought back", "modified": "Put back", "deleted": "Removed again", "renamed": "Named as before"}


def diff_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle diff`."""
    add_job_argument(parser)
    parser.add_argument("--stat", action="store_true", help="list only the files")
    parser.add_argument("--json", action="store_true", help="print JSON: the files, and the patch unless --stat is given")


def undo_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle undo`."""
    add_job_argument(parser)
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--all", action="store_true", help="everything the job changed (default: its last change)")
    much.add_argument("--steps", type=int, default=1, metavar="N", help="its last N changes")
    parser.add_argument("--force", action="store_true", help="also if you have changed the same files since")
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_job_argument(parser: ArgumentParser) -> None:
    """Add the argument that names the job."""
    parser.add_argument(
        "job",
        nargs="?",
        default="",
        metavar="JOB",
        help="the job's id, the beginning of it, or `last` (default: the last one in this folder)",
    )


async def diff(args: Namespace, host: Host) -> int:
    """Show what a job changed."""
    terminal, jobs = host.command_terminal, Jobs(host.home.folder)
    job = find_job(args.job, jobs)
    checkpoints = checkpoints_of(job, jobs)
    if args.json:
        patch = None if args.stat else await patch_of(job, checkpoints)
        host.show({"job": job.id, "files": await _changes_of(job, checkpoints), "patch": patch})
    elif args.stat:
        for change in await _changes_of(job, checkpoints):
            terminal.line(f"{change.kind:9} {change.path}")
    else:
        print_diff(await patch_of(job, checkpoints), terminal.line)
    return 0


async def _changes_of(job: Job, checkpoints: Checkpoints) -> list[CheckpointChange]:
    """Return the changes of the files that the job touched."""
    states = (await span_of(job, checkpoints)).states
    return [change for change in await checkpoints.changes(states[0], states[-1]) if change.path in job.facts.get("touched", ())]


def print_diff(diff: str, write: Callable[[str, str], object]) -> None:
    """Print a diff, with a style for each kind of line."""
    for line, style in style_diff(diff):
        write(line, style)


async def undo(args: Namespace, host: Host) -> int:
    """Restore the files as they were before."""
    terminal, jobs = host.command_terminal, Jobs(host.home.folder)
    job = find_job(args.job, jobs)
    if args.steps < 1:
        raise SettingsError("--steps takes a number from 1 up.")
    try:
        taken = await undo_changes(job.id, jobs, steps=None if args.all else args.steps, force=args.force)
    except ChangedSince as changed:
        terminal.tell(
            f"These files were changed after the job: {', '.join(changed.paths)}. --force takes that back as well.", "red"
        )
        return 1
    if args.json:
        host.show({"job": job.id, "files": taken.changes, "note": taken.words})
        return 0
    for change in taken.changes:
        terminal.line(f"{UNDO_VERBS[change.kind]}: {change.path}")
    if not taken.changes:
        terminal.tell("There was nothing to take back.")
    if taken.words:
        terminal.tell(taken.words)
    return 0


def find_job(job_id: str, jobs: Jobs) -> Job:
    """Return the job of this id, or the last one in this folder. Raises if it has changed nothing."""
    job = jobs.find(job_id) if job_id else _last_job(jobs)
    checkpoints_of(job, jobs)
    return job


def _last_job(jobs: Jobs) -> Job:
    here = Path.cwd().resolve()
    for job in jobs.all():
        if job.assistant == NAME and "before" in job.facts and Path(job.workspace) in (here, *here.parents):
            return job
    raise SettingsError("No job has changed anything in this folder. `treadle jobs` lists all of them.")
