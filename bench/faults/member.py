"""One worker of several on one store: takes leases on runs that nobody has, carries them on, and renews the leases meanwhile.

Made by hand, since it has to freeze at named points; what people run is `hired`. It ends when all runs of its order are over. What
it is refused, since it was silent for too long, it leaves to whoever has it.
"""

import asyncio
import os
import random
import time
from pathlib import Path

from msgspec.structs import replace

from bench.faults.births import Tell, serve
from bench.faults.logs import Kind, Log, Note
from bench.faults.orders import Life, Order
from bench.faults.points import Points
from bench.faults.worker import WARM, carried_on, found, open_calls
from treadle import Home, open_home
from treadle.core.errors import RunNotFound, RunTaken
from treadle.home import close_home
from treadle.stores.leases import FencedJournal, Lease

AT_ONCE = 10  # runs
RENEWALS = 3  # in the time of a lease


class Member:
    """A worker under way."""

    def __init__(self, home: Home, order: Order) -> None:
        self._home = home
        self._order = order
        self._points = Points(order)
        self._log = Log(Path(order.folder) / "lives")
        self._holder = f"{os.getpid()}-{order.born}"
        self._left = set(order.run_id.split(","))
        self._flying: dict[str, asyncio.Task[None]] = {}

    async def work(self) -> None:
        """Until every run is over."""
        while self._left or self._flying:
            for run in (await self._wanted())[: AT_ONCE - len(self._flying)]:
                await self._try(run)
            if self._flying:
                await asyncio.wait(self._flying.values(), timeout=self._order.lease / 10, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(self._order.lease / 10)
            self._flying = {run: task for run, task in self._flying.items() if not _over(task)}

    async def _wanted(self) -> list[str]:
        """What isn't over, as far as is known here: first what somebody has been silent about for too long."""
        free = [run for run in self._left if run not in self._flying]
        random.shuffle(free)
        expired = [run for run in await self._home.leases.list_expired() if run in free]
        return list(dict.fromkeys([*expired, *free]))

    async def _try(self, run: str) -> None:
        """Take a run that nobody has."""
        lease = await self._home.leases.take(run, self._holder, self._order.lease)
        if lease is not None:
            self._note("took", run)
            self._flying[run] = asyncio.create_task(self._carry(run, lease))
        elif await self._is_over(run):
            self._left.discard(run)

    async def _is_over(self, run: str) -> bool:
        try:
            return (await self._home.journal.info(run)).status == "answered"
        except RunNotFound:
            return False

    async def _carry(self, run: str, lease: Lease) -> None:
        """Carry a run on for as long as the lease lasts."""
        work = asyncio.create_task(self._worked(run, lease))
        keep = asyncio.create_task(self._renewed(lease))
        await asyncio.wait([work, keep], return_when=asyncio.FIRST_COMPLETED)
        for task in (work, keep):
            task.cancel()
        await asyncio.wait([work, keep])
        if not work.cancelled() and work.exception() is None:
            self._left.discard(run)
            await self._home.leases.give_up(lease)
            self._note("let go", run)
        elif not work.cancelled() and not isinstance(work.exception(), RunTaken):
            work.result()
        else:
            self._note("fenced", run)

    async def _worked(self, run: str, lease: Lease) -> None:
        entries = await found(self._home, run)
        self._log.add(Note("born", run, time.monotonic(), open_calls(entries), bool(entries), holder=self._holder))
        order = replace(self._order, run_id=run)
        journal = FencedJournal(self._home.journal, lease)
        await carried_on(self._home, order, self._points, self._log, known=bool(entries), journal=journal)

    async def _renewed(self, lease: Lease) -> None:
        """Until it is lost."""
        while await self._home.leases.renew(lease):  # noqa: ASYNC110 - time passes, and nothing else happens
            await asyncio.sleep(lease.seconds / RENEWALS)

    def _note(self, kind: Kind, run: str) -> None:
        self._log.add(Note(kind, run, time.monotonic(), holder=self._holder))


def _over(task: "asyncio.Task[None]") -> bool:
    if task.done():
        task.result()  # raises what the harness has to hear of
    return task.done()


def living(order: Order, tell: Tell) -> Life:
    """A worker's life."""
    return asyncio.run(_lived(order, tell))


async def _lived(order: Order, tell: Tell) -> Life:
    home = open_home(order.home, database=order.store)
    try:
        await home.journal.list_runs()  # connected, and all there is to import imported
        tell()
        await Member(home, order).work()
        return Life(stopped="answered")
    finally:
        close_home(home)


if __name__ == "__main__":
    serve(living, "bench.faults.member", WARM)
