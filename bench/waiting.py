"""`python -m bench.waiting [--runs 100000] [--store postgres]`: runs that wait for a time or an event, on one machine.

All runs go through the real engine with journal and audit log. Half of them sleep, half wait for an event with a key of their own.
With a tenth of them waiting, and with all, runs are woken one by one; the time is from the event being sent, or from the moment at
which a sleep is over, until the run has its answer, with everything on disk. The model is scripted and answers at once. Measured
besides: bytes of the database and of memory for each waiting run, and the time of one look for what is due where nothing is.

The page goes to standard output, and with at least 100,000 runs also to `bench/results/waiting.md`, or `waiting-postgres.md` for
a PostgreSQL of the bench's own. Ends with an error where the goal is missed.
"""

import asyncio
import gc
import os
import statistics
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter

from msgspec import Struct
from msgspec.structs import replace

from bench.faults.postgres import server
from bench.machine import Machine, describe
from treadle import Agent, RunContext, Runs, open_home, tool
from treadle.core.requests import Delta, Request
from treadle.engine.result import RunResult
from treadle.engine.setup import Services
from treadle.home import Home, close_home
from treadle.models.scripted import calls
from treadle.stores.postgres.database import PostgresDatabase
from treadle.testing import Scripted

RESULTS = Path(__file__).parent / "results"
STORES = {"sqlite": ("one SQLite file", "waiting.md"), "postgres": ("one PostgreSQL on this machine", "waiting-postgres.md")}
RUNS = 100_000
WAKES = 500  # of each kind, at each size
AT_ONCE = 200  # runs that are begun concurrently
GOAL_MS = 100.0  # to wake one, p95
NOON = 1_800_000_000.0
DAY = 86_400.0
MILLION = 1_000_000


class OneCall:
    """A model that calls a tool, and answers once it has the result."""

    name = "scripted"
    traits = Scripted().traits

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        last = request.history[-1]
        script = "Done." if last.role == "tools" else calls((last.text, {}))
        async for delta in Scripted(script).reply(request):
            yield delta


def time_of(number: int) -> float:
    """Return when a run's sleep is over: that of later ones is over earlier, so that they can be woken while the others sleep."""
    return NOON + MILLION * DAY - number


@tool(effect="read")
async def nap(ctx: RunContext) -> str:
    """Sleep until a time of one's own."""
    await ctx.sleep(until=time_of(int(ctx.run_id)))
    return "rested"


@tool(effect="read")
async def payment(ctx: RunContext) -> str:
    """Wait for an event of one's own."""
    return f"paid {await ctx.wait_for_event('paid', ctx.run_id, timeout=2 * MILLION * DAY)}"


class Times(Struct, frozen=True):
    """Milliseconds of many operations."""

    p50: float
    p95: float
    most: float


class Stage(Struct, frozen=True):
    """What was measured with so many runs waiting."""

    runs: int
    begun_per_second: float
    bytes_each: float
    rows_bytes_each: float
    memory_each: float
    by_event: Times
    by_time: Times
    idle_look: Times


class Clock:
    """The runs' own clock."""

    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> float:
        """Return the time."""
        return self.at


class Bench:
    """One database of waiting runs."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.clock = Clock()
        self.services: Services = replace(home.services(), clock=self.clock)
        self.agent = Agent(OneCall(), tools=[nap, payment], name="waiter")
        self.begun = 0
        self.woken = 0

    async def begin_until(self, runs: int) -> float:
        """Begin runs until so many have been; return how many were begun in a second."""
        start, first = perf_counter(), self.begun
        numbers = iter(range(first, runs))

        async def begin() -> None:
            for number in numbers:
                name = "nap" if number % 2 else "payment"
                result = await self.agent.run(name, run_id=str(number), journal=self.services)
                assert result.stopped == "waiting", result.message

        await asyncio.gather(*[begin() for _ in range(AT_ONCE)])
        self.begun = runs
        return (runs - first) / (perf_counter() - start)

    async def wake_by_event(self, number: int) -> None:
        """Send an event, and have its run go on."""
        await Runs(self.services).send_event("paid", number, key=str(number))
        await self._check_woken(await self.agent.wake_due(journal=self.services))

    async def wake_by_time(self, number: int) -> None:
        """Have the time of one run come, and have it go on."""
        self.clock.at = time_of(number)
        await self._check_woken(await self.agent.wake_due(journal=self.services))

    async def _check_woken(self, results: Sequence[RunResult[str]]) -> None:
        assert [result.stopped for result in results] == ["answered"]
        self.woken += 1

    async def look(self, number: int) -> None:
        """Look for what is due, where nothing is."""
        assert await self.agent.wake_due(journal=self.services) == []


async def measure(operation: Callable[[int], Awaitable[None]], numbers: list[int]) -> Times:
    """Return the times of one operation after the other."""
    times: list[float] = []
    for number in numbers:
        start = perf_counter()
        await operation(number)
        times.append((perf_counter() - start) * 1000)
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return Times(cuts[49], cuts[94], max(times))


def memory() -> int:
    """Return the resident memory of this process, in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def database_bytes(home: Home) -> tuple[int, int]:
    """Return the bytes of the database, and of the rows and indexes of what waits in it."""
    if isinstance(home.database, PostgresDatabase):
        with home.database.apart() as connection:
            return (
                connection.execute("SELECT pg_database_size(current_database())").fetchone()[0],
                connection.execute("SELECT pg_total_relation_size('waits')").fetchone()[0],
            )
    with home.database.apart() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        pages, size = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
        try:
            query = "SELECT sum(pgsize) FROM dbstat WHERE name IN ('waits', 'waits_by_time', 'waits_by_event')"
            rows = connection.execute(query).fetchone()[0]
        except Exception:  # noqa: BLE001 - not every SQLite is built with it
            rows = 0
    return pages * size, rows


async def measure_stage(bench: Bench, runs: int, wakes: int) -> Stage:
    """Have so many runs wait, and wake some."""
    before, first = memory(), bench.begun
    rate = await bench.begin_until(runs)
    grown = max(memory() - before, 0)
    whole, rows = database_bytes(bench.home)
    sleeping = [number for number in range(first, runs) if number % 2][-wakes:][::-1]
    awaiting = [number for number in range(first, runs) if not number % 2][-wakes:]
    idle = await measure(bench.look, awaiting)
    by_event = await measure(bench.wake_by_event, awaiting)
    by_time = await measure(bench.wake_by_time, sleeping)
    bench.clock.at = NOON  # sleeps of later runs aren't over
    return Stage(runs, rate, whole / runs, rows / runs, grown / (runs - first), by_event, by_time, idle)


async def measure_all(folder: Path, database: str, runs: int, wakes: int) -> list[Stage]:
    """Measure with a tenth of the runs, and with all."""
    home = open_home(folder, database=database)
    try:
        bench = Bench(home)
        return [await measure_stage(bench, size, wakes) for size in (runs // 10, runs)]
    finally:
        close_home(home)


def page_of(stages: list[Stage], machine: Machine, store: str) -> str:
    """Return the results as Markdown."""
    last = stages[-1]
    rows = [
        f"| {stage.runs:,} | {stage.begun_per_second:,.0f} | {stage.bytes_each:,.0f} | {stage.rows_bytes_each:,.0f} "
        f"| {stage.memory_each:,.0f} | {_format(stage.by_event)} | {_format(stage.by_time)} | {_format(stage.idle_look)} |"
        for stage in stages
    ]
    about = f"{machine.cpu}, {machine.cores} cores, {machine.memory_gib} GiB, {machine.python}, commit {machine.commit}"
    titles = (
        *("waiting", "begun per second", "bytes of the database each", "of which index of what is due", "bytes of memory each"),
        *("woken by an event", "woken by time", "look where nothing is due"),
    )
    lines = [
        f"# {last.runs:,} runs that wait for a time or an event",
        "",
        f"Written by `python -m bench.waiting` on {machine.date}: {about}, load average before it {machine.load_average_before}.",
        "",
        f"One process, {STORES[store][0]}, journal and audit log on. Times in milliseconds: p50 / p95 / longest. A run is",
        "woken when its tool has gone on, the model has answered, and everything is on disk.",
        "",
        f"| {' | '.join(titles)} |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
        *rows,
        "",
        f"A million, extrapolated: {last.bytes_each * MILLION / 2**30:.1f} GiB of database, of which",
        f"{last.rows_bytes_each * MILLION / 2**20:,.0f} MiB index. A wake looks up rows by index: from {stages[0].runs:,} to",
        f"{last.runs:,} runs its p95 went from {stages[0].by_event.p95:.1f} to {last.by_event.p95:.1f} ms.",
        "",
        f"Goal: p95 of a wake at most {GOAL_MS:.0f} ms: {'reached' if not _missed(last) else 'missed'}.",
        "",
    ]
    return "\n".join(lines)


def _format(times: Times) -> str:
    return f"{times.p50:.1f} / {times.p95:.1f} / {times.most:.1f}"


def _missed(stage: Stage) -> bool:
    return max(stage.by_event.p95, stage.by_time.p95) > GOAL_MS


def main() -> int:
    """Measure, print, write down."""
    parser = ArgumentParser(prog="python -m bench.waiting", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"that wait (default: {RUNS:,})")
    parser.add_argument("--wakes", type=int, default=WAKES, help=f"of each kind, at each size (default: {WAKES})")
    parser.add_argument("--store", choices=[*STORES], default="sqlite", help="where the runs are (default: sqlite)")
    wanted = parser.parse_args()
    machine = describe()
    with tempfile.TemporaryDirectory() as folder, server() if wanted.store == "postgres" else nullcontext("") as database:
        stages = asyncio.run(measure_all(Path(folder) / "home", database, wanted.runs, wanted.wakes))
    page = page_of(stages, machine, wanted.store)
    print(page)
    if wanted.runs >= RUNS:
        (RESULTS / STORES[wanted.store][1]).write_text(page, "utf-8")
    return int(_missed(stages[-1]))


if __name__ == "__main__":
    sys.exit(main())
