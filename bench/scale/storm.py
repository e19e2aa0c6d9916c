"""Runs, watchers and cancels while members of the cluster are killed; then what came through is counted."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from time import monotonic

import aiohttp
from msgspec import Struct

from bench.faults.postgres import Server as PostgresServer
from bench.scale.cluster import Cluster, ClusterShape, Kills, kill_members
from bench.scale.program import EFFECTS
from bench.scale.watchers import Stream, StreamVerdict, compare_streams, watch_runs
from treadle import Runs
from treadle.core.errors import TreadleError
from treadle.home import Home, close_home, open_home
from treadle.stores.queue_stats import read_operation_stats
from treadle.workers import RunSpec, submit_run

AGENT = "bench.scale.program:agent"
IN_FLIGHT = 400  # runs that wait or are under way at any time, so that kills meet many
AHEAD = 5  # kills that the submission of runs may be ahead of
CANCEL_SECONDS = 120.0


class StormPlan(Struct, frozen=True):
    """What is to be done, and how long all of it may take."""

    kills: int = 500
    runs: int = 10_000
    watchers: int = 200
    cancels: int = 200
    pause: float = 2.0  # mean seconds between two kills
    seconds: float = 6 * 3600.0
    seed: int = 4711


class Cancel(Struct, frozen=True):
    """How long a cancel took, and how many of these seconds there was no database."""

    seconds: float
    outage: float


class StormResult(Struct, frozen=True):
    """What came through."""

    plan: StormPlan
    kills: Kills
    seconds: float
    statuses: dict[str, int]
    lost: tuple[str, ...]
    effects: int
    effects_twice: tuple[str, ...]
    effects_missing: tuple[str, ...]
    streams: StreamVerdict
    cancels: tuple[Cancel, ...]
    cancels_failed: int
    ended: dict[str, int]

    @property
    def problems(self) -> list[str]:
        """What isn't as it must be."""
        counts = {
            "runs lost": len(self.lost),
            "effects twice": len(self.effects_twice),
            "effects missing": len(self.effects_missing),
            "events missing": self.streams.missing,
            "events double": self.streams.double,
            "streams out of order": self.streams.disordered,
            "cancels that didn't land": self.cancels_failed,
        }
        return [f"{count} {name}" for name, count in counts.items() if count]


async def run_storm(plan: StormPlan, shape: ClusterShape, database: PostgresServer, folder: Path) -> StormResult:
    """Start the cluster, and kill its members until there were enough kills and all runs are over."""
    began, chance, kills = monotonic(), random.Random(plan.seed), Kills()
    (folder / "effects").touch()
    home = open_home(folder / "home", database=database.url)
    run_ids = [f"run-{number}" for number in range(plan.runs)]
    try:
        async with Cluster(shape, database.url, folder) as cluster:
            await wait_for_workers(home, shape.workers)
            killing = asyncio.create_task(kill_members(cluster, database, plan.kills, plan.pause, chance, kills))
            watching = [
                asyncio.create_task(watch_runs(cluster, share, random.Random(f"{plan.seed} {number}"), began + plan.seconds))
                for number, share in enumerate(_shares(run_ids, plan.watchers))
            ]
            submitting = asyncio.create_task(_submit_all(home, run_ids, plan, kills))
            cancelling = asyncio.create_task(_cancel_some(home, cluster, plan, chance))
            await submitting
            cancels = await cancelling
            await killing
            statuses = await wait_for_all(home, run_ids, began + plan.seconds)
            streams: list[Stream] = [stream for task in watching for stream in await task]
            ended = cluster.ended
        verdict = await compare_streams(home, streams)
    finally:
        close_home(home)
    made = Counter((folder / "effects").read_text("utf-8").splitlines())
    wanted = {f"{run_id} {number}" for run_id in run_ids for number in range(1, EFFECTS + 1)}
    return StormResult(
        plan=plan,
        kills=kills,
        seconds=monotonic() - began,
        statuses=dict(Counter(statuses.values())),
        lost=tuple([run_id for run_id, status in statuses.items() if status != "answered"]),
        effects=sum(made.values()),
        effects_twice=tuple([effect for effect, count in made.items() if count > 1]),
        effects_missing=tuple(sorted(wanted - made.keys())),
        streams=verdict,
        cancels=tuple([Cancel(times[1] - times[0], kills.outage(*times)) for times in cancels if times is not None]),
        cancels_failed=cancels.count(None),
        ended=ended,
    )


def _shares(run_ids: list[str], watchers: int) -> list[list[str]]:
    return [run_ids[number::watchers] for number in range(min(watchers, len(run_ids)))]


async def wait_for_workers(home: Home, count: int) -> None:
    """Wait until all workers are listed: the tables are made by the first that comes."""
    while True:
        try:
            if (await read_operation_stats(home.database)).live_workers >= count:
                return
        except TreadleError:
            pass  # it is restarted
        await asyncio.sleep(0.5)


async def _submit_all(home: Home, run_ids: list[str], plan: StormPlan, kills: Kills) -> None:
    """Submit runs, each until it is stored: the same id again is the same run. They last as long as the kills."""
    for number, run_id in enumerate(run_ids):
        await submit_until_stored(home, run_id, "make")
        while number % 50 == 0 and (  # noqa: ASYNC110 - of other processes
            number / plan.runs > (kills.total + AHEAD) / plan.kills or await count_queued(home) > IN_FLIGHT
        ):
            await asyncio.sleep(0.5)


async def count_queued(home: Home) -> int:
    try:
        return sum(each.ready + each.sent for each in (await read_operation_stats(home.database)).queues.values())
    except TreadleError:
        return IN_FLIGHT + 1


async def submit_until_stored(home: Home, run_id: str, message: str) -> None:
    while True:
        try:
            await submit_run(home, RunSpec(agent=AGENT, priority=10 if message == "hold" else 0), message, run_id=run_id)
        except TreadleError:
            await asyncio.sleep(0.5)
        else:
            return


async def _cancel_some(home: Home, cluster: Cluster, plan: StormPlan, chance: random.Random) -> list[tuple[float, float] | None]:
    """Submit runs that wait, and cancel each over HTTP once a worker executes it; return from when to when that took."""
    times: list[tuple[float, float] | None] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        for number in range(plan.cancels):
            run_id = f"hold-{number}"
            await submit_until_stored(home, run_id, "hold")
            await _until_held(home, run_id)
            times.append(await _cancel(session, home, cluster, run_id, chance))
    return times


async def _until_held(home: Home, run_id: str) -> None:
    while True:
        try:
            if await home.leases.is_held(run_id):
                return
        except TreadleError:
            pass
        await asyncio.sleep(0.05)


async def _cancel(
    session: aiohttp.ClientSession, home: Home, cluster: Cluster, run_id: str, chance: random.Random
) -> tuple[float, float] | None:
    """Return the times of the first request that a server took, and of the end of the run."""
    began = monotonic()
    accepted = False
    while monotonic() < began + CANCEL_SECONDS:
        try:
            if not accepted:
                asked = monotonic()
                async with session.post(f"{cluster.address(chance)}/api/runs/{run_id}/cancel") as response:
                    accepted = response.status == 200
                    began = asked if accepted else began
            if (await home.journal.info(run_id)).status == "cancelled":
                return began, monotonic()
        except (aiohttp.ClientError, TimeoutError, OSError, TreadleError):
            pass
        await asyncio.sleep(0.05)
    return None


async def wait_for_all(home: Home, run_ids: Sequence[str], until: float) -> dict[str, str]:
    """Wait until all runs are over; return the status of each then, or at the time limit."""
    statuses: dict[str, str] = {}
    for run_id in run_ids:
        while True:
            try:
                info = await Runs(home).wait(run_id, max(0.0, until - monotonic()))
                break
            except TreadleError:
                await asyncio.sleep(0.5)
        statuses[run_id] = info.status
    return statuses


def percentile(values: tuple[float, ...], share: int) -> float:
    """Return a percentile of some values."""
    return quantiles(values, n=100, method="inclusive")[share - 1] if len(values) > 1 else sum(values)
