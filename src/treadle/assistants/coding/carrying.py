"""Carries jobs out as tasks of the server that they were begun on. What one was at when the server stopped, it goes on with when
that is there again; the journal sees to it that nothing is lost or done twice.
"""

import asyncio
from logging import getLogger

from msgspec.structs import replace

from treadle import Host, Job, Jobs, TreadleError, carry_out
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.kinds import KINDS, kind

FACE = {"face": "server"}
TRIES = 3  # times that a job is taken up without anybody asking for it: it may be what ends the server
log = getLogger("treadle.coding")


class Carrier:
    """The jobs of one person that are under way on this server."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs = Jobs(host.home.folder)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    def begin(self, job: Job) -> None:
        """Carry a job out, or go on with it."""
        if job.id not in self._tasks and not self._is_closed:
            task = asyncio.create_task(self._carry(job))
            self._tasks[job.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(job.id, None))

    async def _carry(self, job: Job) -> None:
        try:
            await carry_out(job.id, kind(job.kind).work, self._host)
        except TreadleError as error:  # another process has it
            log.info("Job %s isn't carried out here: %s", job.id, error)
        except Exception:  # a mistake of ours or of a stranger's; the job says so, and the log says where
            log.exception("Job %s failed", job.id)

    def take_up(self, jobs: list[Job]) -> None:
        """Go on with those of these jobs that a server carried out until it ended."""
        for job in jobs:
            begun_here = job.origin.get("face") == FACE["face"] and job.id not in self._tasks
            if begun_here and job.state in ("waiting", "pending") and self._is_lost(job):
                self.begin(job)

    def _is_lost(self, job: Job) -> bool:
        """Whether its process ended under it, and not too often; one that waits for a person is kept as waiting."""
        try:
            with self._jobs.held(job.id) as kept:
                tries = int(kept.facts.get("taken_up", 0))
                if kept.state not in ("running", "pending") or tries >= TRIES or not is_known(kept):
                    return False
                self._jobs.save(replace(kept, facts={**kept.facts, "taken_up": tries + 1}))
                return True
        except TreadleError:
            return False  # another process has it, after all

    def resume(self, job: Job) -> None:
        """Go on with a job because a person wants that."""
        with self._jobs.held(job.id) as kept:
            self._jobs.save(replace(kept, facts={**kept.facts, "taken_up": 0}))
        self.begin(job)

    async def close(self) -> None:
        """Leave what is under way, as after a crash."""
        self._is_closed = True
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def is_known(job: Job) -> bool:
    """Whether it is a job of this assistant, of a kind that there still is."""
    return job.assistant == NAME and job.kind in [each.work.name for each in KINDS]
