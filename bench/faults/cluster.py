"""Several workers on one database, killed at random: their runs are taken over by the others, within so many leases.

They are real ones: `treadle worker`, told of runs by `submit`. Whoever is killed is followed by a new one at once.
"""

import asyncio
import random
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.faults.crews import at_work
from bench.faults.orders import Order
from bench.faults.supply import Supply
from bench.faults.takings import taken_over, takings, watch
from bench.faults.verdicts import Verdict

GLANCE = 0.2  # seconds between two looks at what is left


class Crowd(Struct, frozen=True):
    """What is to be done: so many kills over so many workers, runs of twenty calls, leases of so many seconds."""

    kills: int
    store: str
    workers: int = 3
    lease: float = 2.0
    within: float = 4.0  # seconds after the beginning of a life in which a kill comes
    runs: int = 24  # that wait or are under way at any time; a worker has room for all of them, should it be alone
    tail: float = 0.015
    seed: int = 4711


class Outcome(Struct, frozen=True):
    """Its result: a verdict on each run, how many leases each takeover took, and what ended workers besides kills."""

    verdicts: tuple[Verdict, ...]
    kills: int
    takeovers: tuple[float, ...]
    wrong: tuple[str, ...]
    audit: str

    @property
    def right(self) -> bool:
        """Whether all is well."""
        return all(each.right for each in self.verdicts) and not self.wrong and not self.audit


class _Chance:
    """When the next life ends: at any instant, for as long as there are kills to be made."""

    def __init__(self, what: Crowd) -> None:
        self._left = what.kills
        self._within = what.within
        self._random = random.Random(what.seed)
        self._lock = threading.Lock()

    def __call__(self) -> float | None:
        with self._lock:
            if self._left < 1:
                return None
            self._left -= 1
            return self._random.uniform(0.1, self._within)


def crowded(what: Crowd, folder: Path, told: Callable[[int], None]) -> Outcome:
    """Kill until it is enough, and let what is left come to its end."""
    return asyncio.run(_crowded(what, folder, told))


async def _crowded(what: Crowd, folder: Path, told: Callable[[int], None]) -> Outcome:
    supply, chance = Supply(folder, what.store, "twenty"), _Chance(what)
    order = Order(
        str(folder), str(supply.home), "", "", what.store, what.tail, lease=what.lease, at_once=what.runs, patience=3600.0
    )
    try:
        await supply.submit(what.runs)
        watch(what.store)
        with at_work(what.workers, order, chance) as crew:
            while crew.kills < what.kills:
                await supply.submit(what.runs - await supply.left())
                await asyncio.sleep(GLANCE)
                told(crew.kills)
            await supply.settled()
        verdicts = tuple([course.verdict for course in await supply.courses()])
        taken = [seconds / what.lease for seconds in taken_over(takings(what.store), crew.lives)]
        return Outcome(verdicts, crew.kills, tuple(taken), tuple(crew.wrong), await supply.audited())
    finally:
        supply.close()
