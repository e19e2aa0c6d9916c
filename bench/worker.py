"""The process in which one contender is measured: `python -m bench.worker <name> <base address>`.

Reads an order per line and answers with one reading per line; ends when its input closes. It
judges nothing: ratios and goals are made by the parent.
"""

import asyncio
import gc
import json
import os
import statistics
import sys
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from bench.contenders import Open, Run, Setup, named
from bench.processes import CONTENDER_CORE, allow_many_sockets, pin
from bench.scenario import Scenario
from bench.tools import Tally, tally

_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") / 1024
_STATM = os.open("/proc/self/statm", os.O_RDONLY)
_RSS_EVERY = 0.05
_WARM_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Done:
    """One finished run: how long it took, and what was wrong with it if anything was."""

    wall: float
    failed: bool
    short: bool
    marks: list[float]
    problem: str = ""


async def run_once(run: Run, scenario: Scenario, wants_marks: bool = False) -> Done:
    """Run the task once and check that it did all of its work."""
    mine = Tally(wants_marks)
    tally.set(mine)
    started = time.perf_counter()
    try:
        text = await run(scenario.prompt)
    except Exception as error:  # noqa: BLE001 - a run that fails is a result, not our bug
        return Done(time.perf_counter() - started, True, False, [], f"{error!r}"[:300])
    wall = time.perf_counter() - started
    complete = mine.made == scenario.total_calls and text == "".join(scenario.pieces)
    problem = "" if complete else f"{mine.made} of {scenario.total_calls} calls, {text[-40:]!r}"
    return Done(wall, False, not complete, mine.marks, problem)


async def sample(run: Run, scenario: Scenario, seconds: float, marks: bool) -> dict[str, Any]:
    """CPU and wall time of one run, as the mean over as many as fill the time; at least one."""
    # The process was parked: without this, the first rounds would pay for cold caches.
    await run_once(run, replace(scenario, rounds=min(scenario.rounds, _WARM_ROUNDS)))
    gc.collect()
    done: list[Done] = []
    cpu, wall = time.process_time(), time.perf_counter()
    while not done or time.perf_counter() - wall < seconds:
        done.append(await run_once(run, scenario, marks))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu / len(done), "wall": wall / len(done), "steps": _steps(done), **_faults(done)}


def _steps(done: list[Done]) -> list[float]:
    """The mean CPU time between one marked call and the next."""
    steps = [[after - before for before, after in pairwise(one.marks)] for one in done]
    return [statistics.fmean(same) for same in zip(*steps, strict=False)]


async def load(run: Run, scenario: Scenario, concurrency: int, waves: int) -> dict[str, Any]:
    """So many slots, each with so many runs one after the other: the same work for everybody."""
    await run_once(run, scenario)
    gc.collect()
    before = _rss_kib()
    watch = asyncio.create_task(_highest_rss())
    cpu, wall = time.process_time(), time.perf_counter()
    slots = await asyncio.gather(*(_slot(run, scenario, waves) for _ in range(concurrency)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    watch.cancel()
    peak = max(_rss_kib(), await watch)
    done = [one for slot in slots for one in slot]
    return {
        "cpu": cpu / len(done),
        "runs_per_second": sum(not one.failed for one in done) / wall,
        "p99": _p99([one.wall for one in done]),
        "kib_per_run": (peak - before) / concurrency,
        **_faults(done),
    }


async def _slot(run: Run, scenario: Scenario, waves: int) -> list[Done]:
    # A task of its own gives every run a fresh context, as a caller would.
    return [await asyncio.create_task(run_once(run, scenario)) for _ in range(waves)]


async def _highest_rss() -> float:
    highest = _rss_kib()
    try:
        while True:
            await asyncio.sleep(_RSS_EVERY)
            highest = max(highest, _rss_kib())
    except asyncio.CancelledError:
        return highest


def _rss_kib() -> float:
    return int(os.pread(_STATM, 100, 0).split()[1]) * _PAGE_KIB


def _p99(walls: list[float]) -> float:
    return statistics.quantiles(walls, n=100, method="inclusive")[98] if walls[1:] else walls[0]


def _faults(done: list[Done]) -> dict[str, Any]:
    problems = [one.problem for one in done if one.problem]
    return {
        "runs": len(done),
        "failed": sum(one.failed for one in done),
        "short": sum(one.short for one in done),
        "problem": problems[0] if problems else "",
    }


class Desk:
    """Carries out orders with one open contender per wire mode."""

    def __init__(self, opened: Open, base_url: str) -> None:
        self._opened = opened
        self._base_url = base_url
        self._open: dict[bool, tuple[AbstractAsyncContextManager[Run], Run]] = {}

    async def carry_out(self, order: dict[str, Any]) -> dict[str, Any]:
        """One order, one reading."""
        run = await self._run(order["stream"])
        scenario = Scenario(**order["scenario"])
        match order["what"]:
            case "warm":
                return asdict(await run_once(run, scenario))
            case "sample":
                return await sample(run, scenario, order["seconds"], order["marks"])
            case "load":
                return await load(run, scenario, order["concurrency"], order["waves"])
            case unknown:
                raise ValueError(f"no such order: {unknown}")

    async def _run(self, stream: bool) -> Run:
        if stream not in self._open:
            manager = self._opened(Setup(self._base_url, stream))
            self._open[stream] = manager, await manager.__aenter__()
        return self._open[stream][1]

    async def close(self) -> None:
        """Close what was opened."""
        for manager, _ in self._open.values():
            await manager.__aexit__(None, None, None)


def serve(name: str, base_url: str) -> None:
    """Answer orders until there are no more."""
    # Whatever a contender prints must not end up between our answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(reading: dict[str, Any]) -> None:
        print(json.dumps(reading), file=answers, flush=True)

    try:
        opened = named(name).load()
    except ImportError as error:
        say({"available": False, "reason": f"{error}"})
        return
    say({"available": True})
    with asyncio.Runner() as runner:
        desk = Desk(opened, base_url)
        for line in sys.stdin:
            say(runner.run(desk.carry_out(json.loads(line))))
        runner.run(desk.close())


def first_answer(name: str, base_url: str) -> None:
    """The cold start: import, one round with one call, and the end of the process."""

    async def once() -> None:
        async with named(name).load()(Setup(base_url, stream=False)) as run:
            done = await run_once(run, Scenario(rounds=1, calls=1))
        if done.problem:
            sys.exit(done.problem)

    asyncio.run(once())


if __name__ == "__main__":
    pin(CONTENDER_CORE)
    allow_many_sockets()
    action = first_answer if sys.argv[3:] == ["--first"] else serve
    action(*sys.argv[1:3])
