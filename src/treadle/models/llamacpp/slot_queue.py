"""Requests to the slots of a child, in the order in which they came: how many each has to wait for.

The child itself makes a request wait while its slot is busy, first come, first served, but doesn't say how many are before it. One
child serves models of several event loops, so a place keeps the loop that its progress is reported in.
"""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from treadle.core.requests import Progress

Report = Callable[[Progress], None]


class _Place:
    """A request in a slot's queue."""

    def __init__(self, report: Report | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._report = report

    def tell(self, ahead: int) -> None:
        """Report how many requests are ahead."""
        if self._report is not None:
            with suppress(RuntimeError):  # its loop is closed: nothing waits there any more
                self._loop.call_soon_threadsafe(self._report, Progress("waiting", ahead=ahead))


class SlotQueue:
    """The requests that a child serves or will serve, by slot."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[int, list[_Place]] = {}

    @contextmanager
    def place(self, slot: int, report: Report | None) -> Generator[None]:
        """Take the last place of a slot until the reply is over. Reports how many requests are ahead, whenever that changes."""
        mine = _Place(report)
        with self._lock:
            places = self._places.setdefault(slot, [])
            places.append(mine)
            ahead = len(places) - 1
        if ahead:
            mine.tell(ahead)
        try:
            yield
        finally:
            with self._lock:
                position = places.index(mine)
                del places[position]
                behind = places[position:]
            for number, each in enumerate(behind, position):
                each.tell(number)
