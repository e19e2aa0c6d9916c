"""Requests to a child, in the order in which they came: when each may begin, and how many it has to wait for.

A child keeps the prompts of several slots, so that what two of them have in common isn't read twice, but all share one window: it
refuses what doesn't fit beside the requests that it is serving. So a request waits while its slot is busy, and while the window is.
One child serves models of several event loops: a request keeps the loop that it waits and reports in.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from treadle.core.requests import Progress

Report = Callable[[Progress], None]


class _Place:
    """A request in the queue, or being served."""

    def __init__(self, slot: int, tokens: int, report: Report | None) -> None:
        self.slot = slot
        self.tokens = tokens
        self.is_served = False
        self.loop = asyncio.get_running_loop()
        self._report = report
        self._turn = asyncio.Event()
        self._ahead = 0

    async def wait(self) -> None:
        """Wait until the request may begin."""
        if not self.is_served:
            await self._turn.wait()

    def begin(self) -> None:
        """Let the request begin."""
        self.is_served = True
        with suppress(RuntimeError):  # its loop is closed: nothing waits there any more
            self.loop.call_soon_threadsafe(self._turn.set)

    def tell(self, ahead: int) -> None:
        """Report how many requests are ahead, if that has changed."""
        if ahead == self._ahead:
            return
        self._ahead = ahead
        if self._report is not None:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._report, Progress("waiting", ahead=ahead))


class SlotQueue:
    """The requests that a child serves or will serve. `window` is how many tokens they may have together."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._lock = threading.Lock()
        self._places: list[_Place] = []

    @asynccontextmanager
    async def place(self, slot: int, tokens: int, report: Report | None = None) -> AsyncGenerator[Callable[[], None]]:
        """Wait for the turn of a request; yields what ends it, which leaving does too. Reports how many are ahead meanwhile.

        A request of more tokens than the window has begins when nothing else is served: the child says what is wrong with it.
        """
        mine = _Place(slot, tokens, report)
        with self._lock:
            self._places.append(mine)
            self._serve()

        def leave() -> None:
            with self._lock, suppress(ValueError):  # it has left already
                self._places.remove(mine)
                self._serve()

        try:
            await mine.wait()
            yield leave
        finally:
            leave()

    def _serve(self) -> None:
        """Let requests begin that fit beside those that are served: none overtakes another of its slot, or a large one."""
        self._places = [each for each in self._places if not each.loop.is_closed()]
        taken = sum(each.tokens for each in self._places if each.is_served)
        is_full = False
        for number, each in enumerate(self._places):
            if each.is_served:
                continue
            same_slot = sum(other.slot == each.slot for other in self._places[:number])
            is_full = is_full or (not same_slot and taken > 0 and taken + each.tokens > self._window)
            if same_slot or is_full:
                each.tell(same_slot or number)
            else:
                taken += each.tokens
                each.begin()
                each.tell(0)
