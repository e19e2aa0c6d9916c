"""How costs grow: runs per second and time in the database, by how many workers there are and how many runs are kept."""

import asyncio
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import Struct

from bench.faults.postgres import Server as PostgresServer
from bench.scale.cluster import Cluster, ClusterShape
from bench.scale.storm import AGENT
from treadle import Runs
from treadle.home import Home, close_home, open_home
from treadle.stores.queue_stats import read_operation_stats
from treadle.workers import RunSpec, submit_run

WARM = 4  # runs before anything is measured


class GrowthPoint(Struct, frozen=True):
    """What was measured with so many workers and kept runs; times in the database and of commits are per run."""

    workers: int
    kept: int
    runs: int
    seconds: float
    database_ms: float
    commits: float

    @property
    def per_second(self) -> float:
        """Runs per second."""
        return self.runs / self.seconds


async def measure_growth(
    database: PostgresServer, folder: Path, workers: tuple[int, ...], kept: tuple[int, ...], runs: int
) -> list[GrowthPoint]:
    """Measure each number of kept runs with each number of workers."""
    points: list[GrowthPoint] = []
    home = open_home(folder / "home", database=database.url)
    try:
        for amount, count in product(sorted(kept), workers):
            place = folder / f"{amount}-{count}"
            place.mkdir()
            (place / "effects").touch()
            points += [await _measure(home, database.url, place, count, amount, runs)]
    finally:
        close_home(home)
    return points


async def _measure(home: Home, url: str, folder: Path, workers: int, kept: int, runs: int) -> GrowthPoint:
    async with Cluster(ClusterShape(servers=0, workers=workers), url, folder):
        while (await read_operation_stats(home.database)).live_workers < workers:  # noqa: ASYNC110 - of other processes
            await asyncio.sleep(0.2)
        await _execute(home, f"warm-{folder.name}", WARM)
        await asyncio.to_thread(_keep_runs, url, kept)
        before, began = await asyncio.to_thread(_read_database_time, url), monotonic()
        await _execute(home, folder.name, runs)
        seconds = monotonic() - began
        await asyncio.sleep(1.5)  # the database's statistics are written with a delay
        after = await asyncio.to_thread(_read_database_time, url)
    while (await read_operation_stats(home.database)).live_workers:  # noqa: ASYNC110 - of other processes
        await asyncio.sleep(0.5)
    return GrowthPoint(workers, kept, runs, seconds, (after[0] - before[0]) / runs, (after[1] - before[1]) / runs)


async def _execute(home: Home, name: str, runs: int) -> None:
    run_ids = [await submit_run(home, RunSpec(agent=AGENT), "make", run_id=f"{name}-{number}") for number in range(runs)]
    for run_id in run_ids:
        assert (await Runs(home).wait(run_id)).status == "answered"


def _read_database_time(url: str) -> tuple[float, float]:
    """Return the milliseconds that sessions were active in, and the commits, since the database was created."""
    row = _query(url, "SELECT active_time, xact_commit FROM pg_stat_database WHERE datname = current_database()")
    return float(row[0]), float(row[1])


def _keep_runs(url: str, amount: int) -> None:
    """Have so many runs in the database: copies of one that was answered."""
    missing = max(0, amount - int(_query(url, "SELECT count(*) FROM treadle.runs")[0]))
    source = "(SELECT run_id FROM treadle.runs WHERE status = 'answered' LIMIT 1)"
    names = f"SELECT 'kept-' || md5(random()::text) || n AS name FROM generate_series(1, {missing}) n"
    _query(
        url,
        f"WITH names AS MATERIALIZED ({names}), source AS MATERIALIZED {source},"
        ' new_runs AS (INSERT INTO treadle.runs SELECT name, parent, agent, model, "user", title, status, opened_at, updated_at'
        " FROM names, treadle.runs WHERE run_id = (SELECT run_id FROM source) RETURNING 1),"
        " new_leases AS (INSERT INTO treadle.leases SELECT name, '', 1, 0 FROM names RETURNING 1),"
        " new_entries AS (INSERT INTO treadle.entries SELECT name, position, next, lines FROM names, treadle.entries"
        " WHERE run_id = (SELECT run_id FROM source) RETURNING 1)"
        " SELECT (SELECT count(*) FROM new_runs), (SELECT count(*) FROM new_leases), (SELECT count(*) FROM new_entries)",
    )
    _query(url, "ANALYZE", rows=False)


def _query(url: str, query: str, *, rows: bool = True) -> Any:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchone() if rows else None
