"""PostgreSQL is restarted again and again while workers are at it: now as one does it, now as if it had crashed.

Workers aren't restarted. They wait for it, and every run is answered as if nothing had been.
"""

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.faults.crews import at_work
from bench.faults.orders import Order
from bench.faults.postgres import Mode, Server
from bench.faults.supply import Course, Supply
from treadle.workers.dispatcher import wait_for_poll

MODES: tuple[Mode, ...] = ("fast", "immediate")


class Storm(Struct, frozen=True):
    """What is to be done: so many runs of five calls, leases of so many seconds, and so many seconds between two restarts."""

    runs: int = 2000
    workers: int = 3
    lease: float = 2.0
    tail: float = 1.0  # a tool takes so many seconds, so that a restart meets many
    pause: tuple[float, float] = (5.0, 40.0)
    away: tuple[float, float] = (0.0, 5.0)  # seconds for which the server then stays away
    seed: int = 4711


class Weathered(Struct, frozen=True):
    """Its result: how long the server was away each time, the outcome of each run, what ended workers, and the audit."""

    away: tuple[float, ...]
    courses: tuple[Course, ...]
    wrong: tuple[str, ...]
    audit: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether all is well."""
        return all(each.verdict.right for each in self.courses) and not self.wrong and not self.audit


def weathered(what: Storm, server: Server, folder: Path, told: Callable[[str], None]) -> Weathered:
    """Restart the server until all runs are over."""
    return asyncio.run(_weathered(what, server, folder, told))


async def _weathered(what: Storm, server: Server, folder: Path, told: Callable[[str], None]) -> Weathered:
    began, supply = time.monotonic(), Supply(folder, server.url, "five")
    order = Order(str(folder), str(supply.home), "", "", server.url, what.tail, lease=what.lease, patience=3600.0)
    try:
        await supply.submit(1)  # so that there are tables
        with at_work(what.workers, order, lambda: None) as crew:
            end = asyncio.Event()
            restarting = asyncio.ensure_future(_restarted(what, server, end, told))
            await supply.submit(what.runs - 1)
            await supply.settled(lambda left: told(f"{left} runs left"))
            end.set()
            away = await restarting
        courses = await supply.courses()
        return Weathered(tuple(away), tuple(courses), tuple(crew.wrong), await supply.audited(), time.monotonic() - began)
    finally:
        supply.close()


async def _restarted(what: Storm, server: Server, end: asyncio.Event, told: Callable[[str], None]) -> list[float]:
    """How long the server was away each time, until the end."""
    chance, away = random.Random(what.seed), list[float]()
    await wait_for_poll(end, chance.uniform(*what.pause))
    while not end.is_set():
        mode, began = MODES[len(away) % len(MODES)], time.monotonic()
        await asyncio.to_thread(server.restart, mode, chance.uniform(*what.away))
        away.append(time.monotonic() - began)
        told(f"restart {len(away)} ({mode}): away for {away[-1]:.1f} s")
        await wait_for_poll(end, chance.uniform(*what.pause))
    return away
