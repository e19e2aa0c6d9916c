"""Queues runs of workers whose time to wait is over, or whose event has come."""

from time import time

from treadle.core.errors import JournalError
from treadle.home import Home
from treadle.loop.state import replay
from treadle.stores.queue import QueuePosition, RunQueue
from treadle.stores.waits import PAGE
from treadle.workers.run_spec import is_worker_run, run_spec_of

MAX_FOREIGN = 100_000  # runs that are known not to be for workers


class DueRuns:
    """The runs of a home that are due. Any number of workers may look for them: each is queued once."""

    def __init__(self, home: Home, queue: RunQueue) -> None:
        self._home = home
        self._queue = queue
        self._foreign: set[str] = set()

    async def queue_due_runs(self) -> list[str]:
        """Queue what is due, and return it."""
        queued: list[str] = []
        now, after, seen = time(), 0.0, set[str]()
        while found := [run for run in await self._home.waits.due(now, after=after) if run.run_id not in seen]:
            seen.update([run.run_id for run in found])
            queued += [
                run.run_id for run in found if run.run_id not in self._foreign and await self._queue_run(run.run_id, run.user)
            ]
            after = found[-1].due
            if len(found) < PAGE:
                break
        if len(self._foreign) > MAX_FOREIGN:
            self._foreign.clear()
        return queued

    async def _queue_run(self, run_id: str, user: str) -> bool:
        opened = replay((await self._home.journal.read(run_id))[:1]).opened
        if not is_worker_run(opened):
            self._foreign.add(run_id)
            return False
        return await self._queue.add_once(QueuePosition(run_id, user, run_spec_of(run_id, opened).first_model))

    async def seconds_to_next(self, most: float) -> float:
        """Return the seconds until a run is due, at most so many."""
        try:
            following = await self._home.waits.next_due(time())
        except JournalError:
            return most
        return most if following is None else max(min(following - time(), most), 0.0)
