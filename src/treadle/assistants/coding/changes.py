"""What a job changed, so far or in all, and how that is taken back: for the commands and the page alike."""

from msgspec import Struct
from msgspec.structs import replace

from treadle import Job, Jobs, SettingsError
from treadle.assistants.coding.room import folder_of
from treadle.workspace import Change, Checkpoints, leave_branch, repository


class Span(Struct, frozen=True):
    """The states of the folder that a job went through; `at` is the one it is in now, after what was taken back."""

    states: tuple[str, ...]
    at: int


class TakenBack(Struct, frozen=True):
    """What was taken back; `words` say where the commit is, where there is one."""

    changes: tuple[Change, ...]
    words: str = ""


def checkpoints_of(job: Job, jobs: Jobs) -> Checkpoints:
    """Where its states are kept. Raises a sentence where it has changed nothing."""
    if "before" not in job.facts:
        raise SettingsError(f"Job {job.id} has changed nothing.")
    return Checkpoints(folder_of(job), jobs.folder_of(job.id) / "checkpoints")


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
    """Put the files back as they were `steps` changes ago, or before the job. Raises `ChangedSince` where they are others now."""
    with jobs.held(job_id) as job:
        checkpoints = checkpoints_of(job, jobs)
        span = await span_of(replace(job, state="waiting"), checkpoints)  # nobody else carries it out: we hold it
        target = 0 if steps is None else max(0, span.at - steps)
        changes = await checkpoints.restore(
            span.states[target], expected=span.states[span.at], paths=job.facts.get("touched", ()), force=force
        )
        jobs.save(replace(job, facts={**job.facts, "at": target, "after": span.states[-1]}))
    return TakenBack(changes, await _went_back(job) if target == 0 and job.facts.get("branch") else "")


async def _went_back(job: Job) -> str:
    """Where everything was taken back, the folder is on the branch again that it was on; if that can be without touching a file."""
    folder, base, branch, commit = folder_of(job), job.facts.get("base"), job.facts["branch"], job.output.get("commit")
    stays = f"The commit {commit[:10]} stays on the branch {branch}" if commit else f"The branch {branch} stays"
    if base and await leave_branch(folder, branch, base, job.facts.get("base_commit")):
        return f"{stays}. You are back on {base}."
    found = await repository(folder)
    return f"{stays}, which the folder is still on." if found is not None and found.branch == branch else f"{stays}."
