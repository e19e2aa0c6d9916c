"""`treadle diff` and `treadle undo`: what a job changed and nothing else, and how to take it back, step by step or all of it."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from msgspec.structs import replace

from treadle import Host, Job, Jobs, SettingsError, Terminal
from treadle.assistants.coding.command import NAME
from treadle.workspace import ChangedSince, Checkpoints

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
    terminal, (job, checkpoints) = _terminal(host), _found(args.job, host)
    end = job.facts.get("after")
    if args.stat:
        for change in await checkpoints.changes(job.facts["before"], end):
            terminal.line(f"{change.kind:9} {change.path}")
        return 0
    for line in (await checkpoints.diff(job.facts["before"], end)).splitlines():
        terminal.line(line, _style(line))
    return 0


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


async def undo(args: Namespace, host: Host) -> int:
    """Put the files back as they were before."""
    terminal, (job, checkpoints) = _terminal(host), _found(args.job, host)
    jobs = Jobs(host.home.folder)
    with jobs.held(job.id) as held:
        states = await _states(held, checkpoints)
        at = min(int(held.facts.get("at", len(states) - 1)), len(states) - 1)
        target = 0 if args.all else max(0, at - max(1, args.steps))
        try:
            changes = await checkpoints.restore(states[target], expected=states[at], force=args.force)
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
    if job.output.get("commit"):
        back = f"; `git switch --merge {job.facts['base']}` goes back" if job.facts.get("base") else ""
        terminal.tell(f"The commit {job.output['commit'][:10]} stays on the branch {job.output['branch']}{back}.")
    return 0


async def _states(job: Job, checkpoints: Checkpoints) -> list[str]:
    """The states of the folder that the job went through, from before its first change to after its last."""
    if "after" not in job.facts:  # its process died
        after = await checkpoints.take("after the job")
    else:
        after = str(job.facts["after"])
    states = [point.id for point in await checkpoints.list()]
    return states[states.index(job.facts["before"]) : len(states) - states[::-1].index(after)]


def _found(job_id: str, host: Host) -> tuple[Job, Checkpoints]:
    jobs = Jobs(host.home.folder)
    job = jobs.get(job_id) if job_id else _last(jobs)
    if "before" not in job.facts:
        raise SettingsError(f"Job {job.id} has changed nothing.")
    return job, Checkpoints(Path(job.workspace), jobs.folder_of(job.id) / "checkpoints")


def _last(jobs: Jobs) -> Job:
    here = Path.cwd().resolve()
    for job in jobs.all():
        if job.assistant == NAME and "before" in job.facts and Path(job.workspace) == here:
            return job
    raise SettingsError("No job has changed anything in this folder. `treadle jobs` lists all of them.")


def _terminal(host: Host) -> Terminal:
    assert host.terminal is not None, "a command always has one"
    return host.terminal
