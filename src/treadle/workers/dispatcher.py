"""The interface between workers and what dispatches runs to them: on one machine a table, on many a workflow engine as well.

Both use the same queue (`stores.queue`): it says which runs may start and which were abandoned. A dispatcher only
brings each of those to one worker with capacity.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from time import monotonic
from typing import Any, Protocol

from msgspec import Struct

from treadle.core.errors import JournalError
from treadle.core.log import log
from treadle.stores.queue import DEFAULT_QUEUE, DispatchedRun, RunCeilings, RunQueue

MAX_POLL_SECONDS = 0.25  # seconds between two looks at the queue, at most
GRACE = 4.0  # seconds that runs have to let go in, when a worker stops


class RunExecutor(Protocol):
    """Executes a run, and reports the outcome to the queue."""

    async def __call__(self, sent: DispatchedRun, *, left: bool = False) -> None:
        """Execute a run. One that a worker abandoned is taken over in a turn of its own, unless another worker was quicker."""
        ...


class WorkerOptions(Struct, frozen=True):
    """Options of a worker: how many runs it executes concurrently, how long a lease lasts, and limits across all workers.

    agents          the modules whose agents it may import and run
    queues          the queues that it takes runs of
    tries           how often a run may fail before it is a dead letter; `tries_by_queue` has that of single queues
    app_version     the version of the application that it has; a run that it begins is continued by workers that have it
    compatible      further versions of the application whose runs it continues
    drain           seconds that runs have to end in when the worker stops; those that haven't are continued by others
    """

    at_once: int = 4
    lease: float = 10.0
    ceilings: RunCeilings = RunCeilings()
    agents: tuple[str, ...] = ()
    queues: tuple[str, ...] = (DEFAULT_QUEUE,)
    tries: int = 1
    tries_by_queue: Mapping[str, int] = {}
    drain: float = 0.0
    app_version: str = ""
    compatible: tuple[str, ...] = ()

    def tries_of(self, queue: str) -> int:
        """Return how often a run of a queue may fail."""
        return self.tries_by_queue.get(queue, self.tries)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the application whose runs it continues, its own first."""
        return tuple([version for version in (self.app_version, *self.compatible) if version])

    @property
    def pause(self) -> float:
        """Seconds between two polls of the queue."""
        return min(MAX_POLL_SECONDS, self.lease / 8)


class Dispatcher(Protocol):
    """Dispatches runs to this worker."""

    async def work(self, carry: RunExecutor, stop: asyncio.Event, *, hurry: asyncio.Event | None = None) -> None:
        """Execute runs until `stop`, and let those that are active end; release the rest after a while, or with `hurry`."""
        ...


async def wait_for_poll(stop: asyncio.Event, seconds: float, under_way: Iterable["asyncio.Task[Any]"] = ()) -> None:
    """Wait for the next poll: until a timeout, a finished run, or `stop`."""
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait([stopped, *under_way], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()


async def wait_for_end(under_way: Collection["asyncio.Task[Any]"], seconds: float, hurry: asyncio.Event | None) -> None:
    """Wait until the active runs have ended: so many seconds at most, or until `hurry`."""
    until, told = monotonic() + seconds, hurry or asyncio.Event()
    while under_way and not told.is_set() and (left := until - monotonic()) > 0:
        await wait_for_poll(told, left, list(under_way))


async def cancel_tasks(under_way: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel active tasks, and wait until they have ended, with a timeout."""
    tasks = list(under_way)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE)


class LocalDispatcher:
    """Takes as many runs as there is capacity for. Any number of processes may share a database."""

    def __init__(self, queue: RunQueue, terms: WorkerOptions) -> None:
        self._queue = queue
        self._terms = terms

    async def work(self, carry: RunExecutor, stop: asyncio.Event, *, hurry: asyncio.Event | None = None) -> None:
        """Execute runs until `stop`, and let those that are active end; release the rest after a while, or with `hurry`."""
        under_way = set[asyncio.Task[Any]]()
        try:
            while not stop.is_set():
                for sent, left in await self._next_runs(self._terms.at_once - len(under_way)):
                    task = asyncio.ensure_future(carry(sent, left=left))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                await wait_for_poll(stop, self._terms.pause, under_way)
            await wait_for_end(under_way, self._terms.drain, hurry)
        finally:
            await cancel_tasks(under_way)

    async def _next_runs(self, room: int) -> list[tuple[DispatchedRun, bool]]:
        """Return runs to start now, and whether they were abandoned: those go first."""
        if room < 1:
            return []
        try:
            terms = self._terms
            left = [(sent, True) for sent in await self._queue.stale(terms.lease, room, terms.queues, terms.versions)]
            admitted = await self._queue.admit(terms.ceilings, room - len(left), terms.queues, terms.versions)
            return [*left, *[(sent, False) for sent in admitted]]
        except JournalError as error:
            log.error("The queue couldn't be looked at: %s", error)
            return []
