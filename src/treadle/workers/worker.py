"""A worker: takes queued runs, executes each under a lease, starts scheduled runs, wakes waiting ones, and reports outcomes."""

import asyncio
from collections.abc import Callable
from os import getpid, urandom
from socket import gethostname
from time import monotonic, time

from treadle._version import __version__
from treadle.agent.quotas import Quotas
from treadle.core.errors import JournalError, TreadleError
from treadle.core.log import log
from treadle.home import Home, open_users
from treadle.loop.state import replay
from treadle.settings.loader import user_settings
from treadle.stores.cancellation import CancelWatch
from treadle.stores.leases import Lease
from treadle.stores.queue import DEFAULT_QUEUE, DispatchedRun, QueueCeiling, RunCeilings, RunQueue
from treadle.stores.schedules import Schedules
from treadle.stores.waits import PAGE
from treadle.stores.worker_list import WorkerInfo, WorkerList
from treadle.workers.dispatcher import Dispatcher, LocalDispatcher, WorkerOptions, wait_for_poll
from treadle.workers.executor import RENEWALS, AdvanceResult, Observe, advance_run
from treadle.workers.run_control import end_overdue_runs
from treadle.workers.run_spec import WorkerModels, check_queue_name, is_worker_run, run_spec_of
from treadle.workers.schedules import start_due_runs

OnLine = Callable[[str], None]

LIST_SECONDS = 5.0  # between two updates of the list of workers, at most
SCHEDULE_POLL_SECONDS = 1.0  # seconds between two looks at what is due
ATTEMPTS = 3  # to take a lease that another worker has
RETRY_SECONDS = 5.0  # before the second try of a failed run; twice as long before each further one
FINAL_OUTCOMES = ("answered", "limit", "waiting", "cancelled")
OUTCOME_TEXTS = {
    "answered": "answered",
    "limit": "answered at a limit",
    "waiting": "waits for a person: treadle approve {}",
    "asleep": "waits for a time or an event",
    "cancelled": "cancelled",
    "failed": "failed",
    "again": "failed, and is tried again",
    "fenced": "given up",
    "left": "left for later",
}


def load_worker_options() -> WorkerOptions:
    """Return the user's settings for workers."""
    settings = user_settings()
    said, queues = settings.worker, settings.queues
    ceilings = RunCeilings(
        said.per_user,
        said.per_model,
        said.per_minute,
        {name: QueueCeiling(each.at_once, each.per_minute) for name, each in queues.items()},
    )
    tries = {name: each.tries for name, each in queues.items() if each.tries is not None}
    taken = said.queues or (DEFAULT_QUEUE,)
    for name in (*taken, *queues):
        check_queue_name(name)
    return WorkerOptions(
        *(said.at_once, said.lease, ceilings, said.agents, taken, said.tries, tries, said.drain),
        app_version=said.app_version,
        compatible=said.compatible_versions,
    )


def new_worker_id() -> str:
    """Return a unique worker id that shows the machine and process."""
    return f"{gethostname()}-{getpid()}-{urandom(4).hex()}"


def make_dispatcher(home: Home, queue: RunQueue, terms: WorkerOptions, holder: str) -> Dispatcher:
    """Return the dispatcher for a home: where runs are stored in PostgreSQL, a workflow engine for many machines."""
    from treadle.stores.postgres.database import PostgresDatabase

    if isinstance(home.database, PostgresDatabase):
        from treadle.workers.dbos_dispatcher import DbosDispatcher

        return DbosDispatcher(home.database, queue, terms, holder)
    return LocalDispatcher(queue, terms)


class Worker:
    """Executes runs until it is stopped."""

    def __init__(
        self,
        home: Home,
        terms: WorkerOptions,
        tell: OnLine,
        dispatcher: Dispatcher | None = None,
        observe: Observe | None = None,
    ) -> None:
        self._observe = observe
        self.holder = new_worker_id()
        self._home = home
        self._terms = terms
        self._tell = tell
        self._queue = RunQueue(home.database)
        self._schedules = Schedules(home.database, self._queue)
        self._dispatcher = dispatcher or make_dispatcher(home, self._queue, terms, self.holder)
        users = open_users(home)
        self._models = WorkerModels(terms.agents, Quotas(user_settings().quotas, home, users.all), users)
        self._cancel_watch = CancelWatch(home.cancel_requests)
        self._waking = DueRuns(home, self._queue)
        self._workers = WorkerList(home.database)

    async def work(self, stop: asyncio.Event, hurry: asyncio.Event | None = None) -> None:
        """Execute runs until `stop`, and let those that are active end, for `drain` seconds or until `hurry`.

        The rest is released, for other workers to continue.
        """
        self._home.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # for what is a file also where runs are in a database
        scheduling = asyncio.ensure_future(self._run_schedules(stop))
        listing = asyncio.ensure_future(self._list_itself(stop))
        try:
            await self._dispatcher.work(self._execute, stop, hurry=hurry)
        finally:
            stop.set()
            await scheduling
            listing.cancel()
            await asyncio.wait([listing])
            await self._leave_list()

    async def _list_itself(self, stop: asyncio.Event) -> None:
        """Keep this worker in the list of workers."""
        terms = self._terms
        while True:
            info = WorkerInfo(
                self.holder, terms.queues, terms.at_once, __version__, stop.is_set(), live=True, app_versions=terms.versions
            )
            try:
                await self._workers.renew(info, terms.lease)
            except JournalError as error:
                log.warning("The list of workers couldn't be updated: %s", error)
            await asyncio.sleep(min(terms.lease / RENEWALS, LIST_SECONDS))

    async def _leave_list(self) -> None:
        try:
            await self._workers.remove(self.holder)
        except JournalError as error:
            log.warning("The list of workers couldn't be updated: %s", error)

    async def _execute(self, sent: DispatchedRun, *, left: bool = False) -> None:
        """Execute a run, report to the queue, and print a line."""
        try:
            begun = await (self._take_over(sent) if left else self._begun(sent))
            if begun is not None:
                await self._execute_leased(*begun)
        except TreadleError as error:
            log.error("Run %s is left until its lease is over: %s", sent.run_id, error)

    async def _begun(self, sent: DispatchedRun) -> tuple[Lease, DispatchedRun] | None:
        """Acquire a lease for a turn; return None where another worker has the run, or a newer turn of it.

        The run then stays marked as sent, so that it counts as active: should no worker execute it, it is found abandoned.
        """
        for attempt in range(ATTEMPTS):
            await asyncio.sleep(attempt * self._terms.pause)  # its holder may be about to release it
            lease = await self._home.leases.take(sent.run_id, self.holder, self._terms.lease)
            if lease is not None:
                return await self._unless_outdated(lease, sent if await self._queue.begins(sent) else None)
        return None

    async def _take_over(self, sent: DispatchedRun) -> tuple[Lease, DispatchedRun] | None:
        """Acquire a lease for an abandoned run, and a turn of its own; return None where another worker was quicker.

        The lease comes first: from then on it is visible who has the run, also if this worker dies before the turn is
        written.
        """
        lease = await self._home.leases.take(sent.run_id, self.holder, self._terms.lease)
        return None if lease is None else await self._unless_outdated(lease, await self._queue.send_again(sent))

    async def _unless_outdated(self, lease: Lease, turn: DispatchedRun | None) -> tuple[Lease, DispatchedRun] | None:
        """Return a lease and its turn. Where that isn't the newest any more, give up the lease and return None."""
        if turn is not None:
            return lease, turn
        await self._home.leases.give_up(lease)
        return None

    async def _execute_leased(self, lease: Lease, sent: DispatchedRun) -> None:
        began = monotonic()
        try:
            done = await advance_run(self._home, lease, self._models, self._cancel_watch, self._observe, self._terms.versions)
            outcome = await self._report(sent, done)  # before the lease is given up, or it would look as if it had been left behind
        except asyncio.CancelledError:
            await self._home.leases.give_up(lease)
            await self._queue.put_back(sent)
            self._tell(f"{sent.run_id} let go, for another worker to go on with ({monotonic() - began:.1f} s)")
            raise
        self._tell(f"{sent.run_id} {_format_outcome(sent, done, outcome)} ({monotonic() - began:.1f} s)")
        await self._home.leases.give_up(lease)

    async def _report(self, sent: DispatchedRun, done: AdvanceResult) -> str:
        """Report to the queue; return the outcome, as `OUTCOME_TEXTS` has it."""
        if done.outcome == "failed":
            is_dead = await self._queue.fail(sent, "stalled" if done.stalled else "failed", self._terms.tries_of, RETRY_SECONDS)
            return "failed" if is_dead else "again"
        if done.outcome in FINAL_OUTCOMES:
            await self._queue.over(sent)
        else:  # another worker's by now, and then this changes nothing; else it is tried again
            await self._queue.put_back(sent, self._terms.lease)
        return "asleep" if done.asleep else done.outcome

    async def _run_schedules(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                for run_id in [*await start_due_runs(self._schedules), *await self._waking.queue_due_runs()]:
                    self._tell(f"{run_id} was due and is queued")
                for run_id in await end_overdue_runs(self._home):
                    self._tell(f"{run_id} cancelled, since its worker doesn't respond")
            except JournalError as error:
                log.error("Schedules couldn't be looked at: %s", error)
            await wait_for_poll(stop, await self._waking.seconds_to_next(SCHEDULE_POLL_SECONDS))


def _format_outcome(sent: DispatchedRun, done: AdvanceResult, outcome: str) -> str:
    words = OUTCOME_TEXTS[outcome].format(sent.run_id)
    why = done.why if done.outcome in ("failed", "fenced", "left") else ""
    return f"{words}: {why.rstrip('.')}" if why else words


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
        return await self._queue.add_once(run_spec_of(run_id, opened).position(run_id, user))

    async def seconds_to_next(self, most: float) -> float:
        """Return the seconds until a run is due, at most so many."""
        try:
            following = await self._home.waits.next_due(time())
        except JournalError:
            return most
        return most if following is None else max(min(following - time(), most), 0.0)
