"""`treadle diff` and `treadle undo`: what a job changed and nothing else, and how to take it back, step by step or all of it."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from msgspec.structs import replace

from treadle import Host, Job, Jobs, SettingsError
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.room import folder_of
from treadle.workspace import ChangedSince, Checkpoints, leave_branch

_BACK = {"added": "Brought back", "modified": "Put back", "deleted": "Removed again", "renamed": "Named as before"}


def diff_arguments(parser: ArgumentParser) -> None:
    """What can be typed after `treadle diff`."""
    _job(parser)
    parser.add_argument("--stat", action="store_true", help="only which files")


def undo_arguments(parser: ArgumentParser) -> None:
    """What can be typed after `treadle undo`."""
    _job(parser)
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--all", action="store_true", help="everything the job changed (default: its last change)")
    much.add_argument("--steps", type=int, default=1, metavar="N", help="its last N changes")
    parser.add_argument("--force", action="store_true", help="also where you have changed the same files since")


def _job(parser: ArgumentParser) -> None:
    parser.add_argument("job", nargs="?", default="", metavar="JOB", help="the job's id (default: the last one in this folder)")


async def diff(args: Namespace, host: Host) -> int:
    """Show what a job changed."""
    terminal, (job, checkpoints) = host.shown_at, _found(args.job, host)
    touched, states = job.facts.get("touched", ()), await _states(job, checkpoints)
    if args.stat:
        for change in await checkpoints.changes(states[0], states[-1]):
            if change.path in touched:
                terminal.line(f"{change.kind:9} {change.path}")
    elif touched:
        for line in (await checkpoints.diff(states[0], states[-1], touched)).splitlines():
            terminal.line(line, _style(line))
    return 0


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


async def undo(args: Namespace, host: Host) -> int:
    """Put the files back as they were before."""
    terminal, (job, checkpoints) = host.shown_at, _found(args.job, host)
    if args.steps < 1:
        raise SettingsError("--steps takes a number from 1 up.")
    jobs = Jobs(host.home.folder)
    with jobs.held(job.id) as held:
        states, at = await _states(held, checkpoints), held.facts.get("at")
        at = len(states) - 1 if at is None else min(int(at), len(states) - 1)
        target = 0 if args.all else max(0, at - args.steps)
        touched = held.facts.get("touched", ())
        try:
            changes = await checkpoints.restore(states[target], expected=states[at], paths=touched, force=args.force)
        except ChangedSince as changed:
            terminal.tell(
                f"These files were changed after the job: {', '.join(changed.paths)}. --force takes that back as well.", "red"
            )
            return 1
        facts = {**held.facts, "at": target, "after": states[-1]}
        jobs.save(replace(held, facts=facts))
    for change in changes:
        terminal.line(f"{_BACK[change.kind]}: {change.path}")
    if not changes:
        terminal.tell("There was nothing to take back.")
    if target == 0 and job.output.get("commit"):
        terminal.tell(await _went_back(job))
    return 0


async def _went_back(job: Job) -> str:
    """Where everything was taken back, the folder is on the branch again that it was on; if that can be without touching a file."""
    folder, base, branch = folder_of(job), job.facts.get("base"), job.output["branch"]
    stays = f"The commit {job.output['commit'][:10]} stays on the branch {branch}"
    if base and await leave_branch(folder, branch, base, job.facts.get("base_commit")):
        return f"{stays}. You are back on {base}."
    return f"{stays}, which the folder is still on."


async def _states(job: Job, checkpoints: Checkpoints) -> list[str]:
    """The states of the folder that the job went through, from before its first change to after its last."""
    states = [point.id for point in await checkpoints.list()]
    after = str(job.facts.get("after") or states[-1])  # where its process died, the last one after a call of its own
    return states[states.index(job.facts["before"]) : len(states) - states[::-1].index(after)]


def _found(job_id: str, host: Host) -> tuple[Job, Checkpoints]:
    jobs = Jobs(host.home.folder)
    job = jobs.get(job_id) if job_id else _last(jobs)
    if "before" not in job.facts:
        raise SettingsError(f"Job {job.id} has changed nothing.")
    return job, Checkpoints(folder_of(job), jobs.folder_of(job.id) / "checkpoints")


def _last(jobs: Jobs) -> Job:
    here = Path.cwd().resolve()
    for job in jobs.all():
        if job.assistant == NAME and "before" in job.facts and Path(job.workspace) in (here, *here.parents):
            return job
    raise SettingsError("No job has changed anything in this folder. `treadle jobs` lists all of them.")
