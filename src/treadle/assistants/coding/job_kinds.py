"""The four job kinds in one table: their arguments, their inputs, and the function that runs them; and the server's runner of jobs.

The runner executes jobs as tasks of the server that they were started on. A job that was running when the server stopped is resumed
when the server is back; the journal makes sure that nothing is lost or done twice.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from logging import getLogger

from msgspec import Struct
from msgspec.structs import replace

from treadle import TreadleError
from treadle.assistant import Host, Job, JobKind, Jobs, execute_job
from treadle.assistants.coding import command, jobs, review
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.inputs import BuildInputs, DebugInputs, JobInputs, ReviewInputs, TriageInputs

SERVER_ORIGIN = {"face": "server"}
MAX_RECOVERIES = 3  # times that a job is taken up without anybody asking for it: it may be what ends the server
log = getLogger("treadle.coding")


class CodingJobKind(Struct, frozen=True):
    """One job kind, and its command line."""

    work: JobKind
    arguments: Callable[[ArgumentParser], None]
    given: Callable[[Namespace], JobInputs]


PUBLISH_FIELDS = ("push", "pr")
CODING_JOB_KINDS = (
    CodingJobKind(
        JobKind("build", "build something, tests included", BuildInputs, jobs.run_build, leaving=PUBLISH_FIELDS),
        command.add_build_arguments,
        command.build_inputs,
    ),
    CodingJobKind(
        JobKind("debug", "find and fix a bug", DebugInputs, jobs.run_debug, leaving=PUBLISH_FIELDS),
        command.add_debug_arguments,
        command.debug_inputs,
    ),
    CodingJobKind(
        JobKind("review", "review a change", ReviewInputs, review.run_review, reads=True, leaving=("pr", "post")),
        command.add_review_arguments,
        command.review_inputs,
    ),
    CodingJobKind(
        JobKind("triage", "find out why something goes wrong", TriageInputs, jobs.run_triage, reads=True),
        command.add_triage_arguments,
        command.triage_inputs,
    ),
)
JOB_KINDS = tuple([each.work for each in CODING_JOB_KINDS])


def find_coding_job_kind(name: str) -> CodingJobKind:
    """Return the job kind of this name."""
    return next(each for each in CODING_JOB_KINDS if each.work.name == name)


class CodingJobRunner:
    """The jobs of one user that are running on this server."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs = Jobs(host.home.folder)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    def begin(self, job: Job) -> None:
        """Start or resume a job."""
        if job.id not in self._tasks and not self._is_closed:
            task = asyncio.create_task(self._carry(job))
            self._tasks[job.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(job.id, None))

    async def _carry(self, job: Job) -> None:
        try:
            await execute_job(job.id, find_coding_job_kind(job.kind).work, self._host)
        except TreadleError as error:  # another process has it
            log.info("Job %s isn't carried out here: %s", job.id, error)
        except Exception:  # a mistake of ours or of a stranger's; the job says so, and the log says where
            log.exception("Job %s failed", job.id)

    def take_up(self, jobs: list[Job]) -> None:
        """Resume those of these jobs that were running on a server when it ended."""
        for job in jobs:
            begun_here = job.origin.get("face") == SERVER_ORIGIN["face"] and job.id not in self._tasks
            if begun_here and job.state in ("waiting", "pending") and self._is_lost(job):
                self.begin(job)

    def _is_lost(self, job: Job) -> bool:
        """Return whether its process ended, and not too often; a job that waits for a person is stored as waiting."""
        try:
            with self._jobs.held(job.id) as kept:
                tries = int(kept.facts.get("taken_up", 0))
                if kept.state not in ("running", "pending") or tries >= MAX_RECOVERIES or not is_coding_job(kept):
                    return False
                self._jobs.save(replace(kept, facts={**kept.facts, "taken_up": tries + 1}))
                return True
        except TreadleError:
            return False  # another process has it, after all

    def resume(self, job: Job) -> None:
        """Resume a job at a person's request."""
        with self._jobs.held(job.id) as kept:
            self._jobs.save(replace(kept, facts={**kept.facts, "taken_up": 0}))
        self.begin(job)

    async def close(self) -> None:
        """Abandon what is running, as after a crash."""
        self._is_closed = True
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def is_coding_job(job: Job) -> bool:
    """Return whether it is a job of this assistant, of a kind that still exists."""
    return job.assistant == NAME and job.kind in [each.work.name for each in CODING_JOB_KINDS]
