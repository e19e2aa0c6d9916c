"""A worker: takes queued runs, carries each on under a lease, begins what is scheduled, and says what becomes of them."""

import asyncio
from collections.abc import Callable
from os import getpid, urandom
from socket import gethostname
from time import monotonic

from treadle.app.home import Home
from treadle.app.settings import user_settings
from treadle.app.workers.advance import Advanced, advance
from treadle.app.workers.dispatcher import Dispatcher, Terms, pause
from treadle.app.workers.local import Local
from treadle.app.workers.order import Models
from treadle.app.workers.scheduling import begin_due
from treadle.core.errors import JournalError, TreadleError
from treadle.core.log import log
from treadle.stores.leases import Lease
from treadle.stores.queue import Ceilings, Queue, Sent
from treadle.stores.schedules import Schedules

Tell = Callable[[str], None]

SCHEDULE_LOOKS = 1.0  # seconds between two looks at what is due
ATTEMPTS = 3  # to take a lease that somebody else has
OVER = ("answered", "limit", "waiting", "cancelled", "failed")
WORDS = {
    "answered": "answered",
    "limit": "answered at a limit",
    "waiting": "waits for a person: treadle approve {}",
    "cancelled": "cancelled",
    "failed": "failed",
    "fenced": "given up",
    "left": "left for later",
}


def settled_terms() -> Terms:
    """What the person settled for workers."""
    said = user_settings().worker
    return Terms(said.at_once, said.lease, Ceilings(said.per_user, said.per_model, said.per_minute))


def new_holder() -> str:
    """A name no other worker has; a person can tell from it which machine and process it is."""
    return f"{gethostname()}-{getpid()}-{urandom(4).hex()}"


def dispatcher_for(home: Home, queue: Queue, terms: Terms, holder: str) -> Dispatcher:
    """What hands runs to a worker: where they are kept in PostgreSQL, an engine for many machines."""
    from treadle.stores.postgres.database import PostgresDatabase

    if isinstance(home.database, PostgresDatabase):
        from treadle.app.workers.cluster import Cluster

        return Cluster(home.database, queue, terms, holder)
    return Local(queue, terms)


class Worker:
    """Carries runs out until it is told to stop."""

    def __init__(self, home: Home, terms: Terms, tell: Tell, dispatcher: Dispatcher | None = None) -> None:
        self.holder = new_holder()
        self._home = home
        self._terms = terms
        self._tell = tell
        self._queue = Queue(home.database)
        self._schedules = Schedules(home.database, self._queue)
        self._dispatcher = dispatcher or dispatcher_for(home, self._queue, terms, self.holder)
        self._models = Models()

    async def work(self, stop: asyncio.Event) -> None:
        """Take runs until `stop`; then let go of those that are under way, for others to go on with."""
        self._home.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # for what is a file also where runs are in a database
        scheduling = asyncio.ensure_future(self._schedule(stop))
        try:
            await self._dispatcher.work(self._carry, stop)
        finally:
            stop.set()
            await scheduling

    async def _carry(self, sent: Sent, *, left: bool = False) -> None:
        """Carry a run on, tell the queue, and say a line."""
        try:
            begun = await (self._taken_over(sent) if left else self._begun(sent))
            if begun is not None:
                await self._carry_under(*begun)
        except TreadleError as error:
            log.error("Run %s is left until its lease is over: %s", sent.run_id, error)

    async def _begun(self, sent: Sent) -> tuple[Lease, Sent] | None:
        """A lease for a turn; None where somebody else has the run, or a newer turn of it.

        The run then stays sent, so that it counts among those under way: should nobody carry it out, it is found left behind.
        """
        for attempt in range(ATTEMPTS):
            await asyncio.sleep(attempt * self._terms.pause)  # whoever has it may be about to give it up
            lease = await self._home.leases.take(sent.run_id, self.holder, self._terms.lease)
            if lease is not None:
                return await self._unless_late(lease, sent if await self._queue.begins(sent) else None)
        return None

    async def _taken_over(self, sent: Sent) -> tuple[Lease, Sent] | None:
        """A lease for a run that was left behind, and a turn of its own; None where somebody was quicker.

        The lease comes first: from then on it is seen who has the run, also if this worker dies before the turn is written.
        """
        lease = await self._home.leases.take(sent.run_id, self.holder, self._terms.lease)
        return None if lease is None else await self._unless_late(lease, await self._queue.send_again(sent))

    async def _unless_late(self, lease: Lease, turn: Sent | None) -> tuple[Lease, Sent] | None:
        """A lease and its turn. Where that isn't the newest any more, the lease is of no use."""
        if turn is not None:
            return lease, turn
        await self._home.leases.give_up(lease)
        return None

    async def _carry_under(self, lease: Lease, sent: Sent) -> None:
        began = monotonic()
        try:
            done = await advance(self._home, lease, self._models)
            await self._settle(sent, done)  # before the lease is given up, or it would look as if it had been left behind
        except asyncio.CancelledError:
            await self._home.leases.give_up(lease)
            await self._queue.put_back(sent)
            self._tell(f"{sent.run_id} let go, for another worker to go on with ({monotonic() - began:.1f} s)")
            raise
        self._tell(f"{sent.run_id} {_told(sent, done)} ({monotonic() - began:.1f} s)")
        await self._home.leases.give_up(lease)

    async def _settle(self, sent: Sent, done: Advanced) -> None:
        if done.outcome in OVER:
            await self._queue.over(sent)
        else:  # somebody else's by now, and then this changes nothing; else it is tried again
            await self._queue.put_back(sent, self._terms.lease)

    async def _schedule(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                for run_id in await begin_due(self._schedules):
                    self._tell(f"{run_id} was due and is queued")
            except JournalError as error:
                log.error("Schedules couldn't be looked at: %s", error)
            await pause(stop, SCHEDULE_LOOKS)


def _told(sent: Sent, done: Advanced) -> str:
    words = WORDS[done.outcome].format(sent.run_id)
    why = done.why if done.outcome in ("failed", "fenced", "left") else ""
    return f"{words}: {why.rstrip('.')}" if why else words
