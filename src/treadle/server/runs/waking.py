"""Wakes a user's runs: those whose time to wait is over, or whose event has come, are resumed at that time."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from time import time

from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.home import Home
from treadle.stores.waits import PAGE

POLL_SECONDS = 1.0  # between two looks for events that another process has delivered
RETRY_SECONDS = 60.0  # before a run that couldn't be resumed is tried again
MAX_KNOWN = 100_000  # runs that are known not to be for now


class RunWaker:
    """Looks for runs that are due, while there are some that wait. `resume` returns whether a run is this server's to resume."""

    def __init__(self, home: Home, changed: asyncio.Event, resume: Callable[[str], Awaitable[bool]]) -> None:
        self._home = home
        self._changed = changed  # a turn has ended, perhaps to wait, or an event was sent
        self._resume = resume
        self._not_before: dict[tuple[str, float], float] = {}  # of what was tried, by run and due time

    def notify(self) -> None:
        """Look at once."""
        self._changed.set()

    async def run(self) -> None:
        """Wake runs until cancelled."""
        while True:
            self._changed.clear()
            try:
                pause = await self._wake_due()
            except TreadleError as error:
                log.warning("Runs that wait couldn't be looked at: %s", error)
                pause = POLL_SECONDS
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _wake_due(self) -> float | None:
        """Resume what is due; return the seconds until the next look, or None where nothing waits."""
        waits = self._home.waits
        if not await waits.waiting(1):
            return None
        now, after, seen = time(), 0.0, set[str]()
        while found := [run for run in await waits.due(now, after=after) if run.run_id not in seen]:
            for due in found:
                seen.add(due.run_id)
                if self._not_before.get((due.run_id, due.due), 0.0) <= now:
                    is_own = await self._resume(due.run_id)
                    self._not_before[due.run_id, due.due] = now + RETRY_SECONDS if is_own else inf
            after = found[-1].due
            if len(found) < PAGE:
                break
        if len(self._not_before) > MAX_KNOWN:
            self._not_before.clear()
        following = await waits.next_due(now)
        return POLL_SECONDS if following is None else max(min(following - time(), POLL_SECONDS), 0.0)
