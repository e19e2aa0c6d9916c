"""A dispatcher for one machine: the queue in the database, and tasks in this process. Needs nothing else."""

import asyncio
from typing import Any

from treadle.app.workers.dispatcher import Carry, Terms, let_go, pause
from treadle.core.errors import JournalError
from treadle.core.log import log
from treadle.stores.queue import Queue, Sent


class Local:
    """Takes as many runs as there is room for. Any number of processes may share a database."""

    def __init__(self, queue: Queue, terms: Terms) -> None:
        self._queue = queue
        self._terms = terms

    async def work(self, carry: Carry, stop: asyncio.Event) -> None:
        """Have runs carried on until `stop`; then let go of those that are under way."""
        under_way = set[asyncio.Task[Any]]()
        try:
            while not stop.is_set():
                for sent, left in await self._next(self._terms.at_once - len(under_way)):
                    task = asyncio.ensure_future(carry(sent, left=left))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                await pause(stop, self._terms.pause, under_way)
        finally:
            await let_go(under_way)

    async def _next(self, room: int) -> list[tuple[Sent, bool]]:
        """Runs to begin now, and whether they were left behind: those go first."""
        if room < 1:
            return []
        try:
            left = [(sent, True) for sent in await self._queue.stale(self._terms.lease, room)]
            return [*left, *[(sent, False) for sent in await self._queue.admit(self._terms.ceilings, room - len(left))]]
        except JournalError as error:
            log.error("The queue couldn't be looked at: %s", error)
            return []
