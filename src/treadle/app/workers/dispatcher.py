"""The seam between workers and what hands runs to them: on one machine a table, on many a workflow engine besides.

Both go by the same queue (`stores.queue`): it says which runs may begin and which were left behind. A dispatcher only brings each
of those to one worker that has room.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

from msgspec import Struct

from treadle.stores.queue import Ceilings, Sent

LOOKS = 0.25  # seconds between two looks at the queue, at most
GRACE = 4.0  # seconds that runs have to let go in, when a worker stops


class Carry(Protocol):
    """Carries a run on, and tells the queue how far it came."""

    async def __call__(self, sent: Sent, *, left: bool = False) -> None:
        """Carry it on. One that was left behind by a worker is taken over in a turn of its own, unless somebody was quicker."""
        ...


class Terms(Struct, frozen=True):
    """What a worker goes by: how many runs it carries out at once, how long a lease lasts, and what holds over all workers."""

    at_once: int = 4
    lease: float = 10.0
    ceilings: Ceilings = Ceilings()

    @property
    def pause(self) -> float:
        """Seconds between two looks at the queue."""
        return min(LOOKS, self.lease / 8)


class Dispatcher(Protocol):
    """Hands runs to this worker."""

    async def work(self, carry: Carry, stop: asyncio.Event) -> None:
        """Have runs carried on until `stop`; then let go of those that are under way."""
        ...


async def pause(stop: asyncio.Event, seconds: float, under_way: Iterable["asyncio.Task[Any]"] = ()) -> None:
    """Wait until it is time to look again: after so many seconds, when a run is over, or to stop."""
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait([stopped, *under_way], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()


async def let_go(under_way: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel what is under way, and wait until it has let go: not for ever."""
    tasks = list(under_way)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE)
