"""Other engines in the same cluster: workers on one PostgreSQL, killed with it at random instants, runs of three effects each.

Runs are submitted as long as there are kills, so that each engine has to go through as many; then all of them may finish. Only
engines with a queue and workers of their own can take part.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import aiohttp
from msgspec import Struct

from bench.faults.peers import read_version
from bench.faults.postgres import Server as PostgresServer
from bench.faults.postgres import started
from bench.scale.cluster import Cluster, ClusterShape, Kills, kill_members
from bench.scale.program import EFFECTS
from bench.scale.storm import count_queued, submit_until_stored, wait_for_all, wait_for_workers
from treadle.home import close_home, open_home

IN_FLIGHT = 60
AFTER_KILLS = 60.0  # seconds that runs may take after the last kill
RETRY_SECONDS = 0.5


class Peer(Struct, frozen=True):
    """An engine: its name, and the module of its workers with its argument; ours has none."""

    name: str
    module: str = ""
    how: str = ""


_DBOS, _PYDANTIC_AI, _AGNO = (read_version(package) for package in ("dbos", "pydantic-ai-slim", "agno"))
PEERS = (
    Peer("**Treadle**, `checkable` tools"),
    Peer(f"DBOS {_DBOS}, steps", "dbos_steps"),
    Peer(f"pydantic-ai {_PYDANTIC_AI} on DBOS, tool as a step", "pydantic_ai_dbos", "step"),
    Peer(f"pydantic-ai {_PYDANTIC_AI} on DBOS, plain tool", "pydantic_ai_dbos"),
    Peer(f"agno {_AGNO}, AgentOS, one attempt (default)", "agno_os", "1"),
    Peer(f"agno {_AGNO}, AgentOS, ten attempts", "agno_os", "10"),
)


class PeerResult(Struct, frozen=True):
    """What came through."""

    name: str
    kills: Kills
    runs: int
    lost: int
    effects_twice: int
    effects_missing: int
    seconds: float


class EngineQueue(Protocol):
    """The queue of an engine, from outside of its workers."""

    async def wait_until_ready(self, workers: int) -> None:
        """Wait until runs can be submitted."""

    async def submit(self, run_id: str) -> None:
        """Submit a run, until it is stored: the same id again is the same run."""

    async def count_unfinished(self) -> int:
        """Return how many runs wait or are under way."""
        ...

    async def find_lost(self, run_ids: Sequence[str], until: float) -> list[str]:
        """Wait until all runs are over, or for a time; return those that weren't answered."""
        ...

    async def close(self) -> None:
        """Close its connections."""


class TreadleQueue:
    """Ours."""

    def __init__(self, url: str, folder: Path) -> None:
        self._home = open_home(folder / "home", database=url)

    async def wait_until_ready(self, workers: int) -> None:
        """Wait for all workers."""
        await wait_for_workers(self._home, workers)

    async def submit(self, run_id: str) -> None:
        """Submit a run, until it is stored."""
        await submit_until_stored(self._home, run_id, "make")

    async def count_unfinished(self) -> int:
        """Return how many runs wait or are under way."""
        return await count_queued(self._home)

    async def find_lost(self, run_ids: Sequence[str], until: float) -> list[str]:
        """Return the runs that aren't answered."""
        statuses = await wait_for_all(self._home, run_ids, until)
        return [run_id for run_id, status in statuses.items() if status != "answered"]

    async def close(self) -> None:
        """Close the store."""
        close_home(self._home)


class _TableQueue:
    """A queue that is a table: runs by their status."""

    table = id_column = answered = ""
    unfinished: tuple[str, ...] = ()

    def __init__(self, url: str) -> None:
        self._url = url

    async def count_unfinished(self) -> int:
        """Return how many runs wait or are under way; more than may be where the database is away."""
        rows = await asyncio.to_thread(self._query, f"SELECT count(*) FROM {self.table} WHERE status = ANY(%s)", [*self.unfinished])
        return rows[0][0] if rows else IN_FLIGHT + 1

    async def find_lost(self, run_ids: Sequence[str], until: float) -> list[str]:
        """Return the runs that didn't succeed."""
        while await self.count_unfinished() and monotonic() < until:  # noqa: ASYNC110 - of other processes
            await asyncio.sleep(RETRY_SECONDS)
        query = f"SELECT {self.id_column} FROM {self.table} WHERE status = %s"
        rows = await asyncio.to_thread(self._query, query, self.answered)
        return sorted({*run_ids} - {row[0] for row in rows})

    def _query(self, query: str, *values: Any) -> list[Any]:
        import psycopg

        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                return connection.execute(query.encode(), values).fetchall()
        except psycopg.Error:
            return []


class DbosQueue(_TableQueue):
    """A queue of DBOS, whose tables are made by the first worker."""

    table, id_column, answered = "dbos.workflow_status", "workflow_uuid", "SUCCESS"
    unfinished = ("ENQUEUED", "DELAYED", "PENDING")
    _client: Any = None

    async def wait_until_ready(self, workers: int) -> None:
        """Wait until a worker has made the tables and the queue."""
        while not await asyncio.to_thread(self._query, "SELECT 1 FROM dbos.queues WHERE name = %s", "runs"):  # noqa: ASYNC110
            await asyncio.sleep(RETRY_SECONDS)
        from dbos import DBOSClient

        logging.getLogger("dbos").setLevel(logging.CRITICAL)
        self._client = await asyncio.to_thread(DBOSClient, system_database_url=self._url)

    async def submit(self, run_id: str) -> None:
        """Submit a workflow. The client itself tries again after most of the errors of a database that is away."""
        from sqlalchemy.exc import SQLAlchemyError

        options = {"workflow_name": "work", "queue_name": "runs", "workflow_id": run_id, "app_version": "1"}
        while True:
            try:
                await asyncio.to_thread(self._client.enqueue, options, run_id)
            except SQLAlchemyError:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def close(self) -> None:
        """Close the client."""
        if self._client is not None:
            await asyncio.to_thread(self._client.destroy)


class AgnoQueue(_TableQueue):
    """agno's queue, which takes runs over HTTP at any replica."""

    table, id_column, answered = "ai.agno_jobs", "session_id", "completed"
    unfinished = ("queued", "running", "paused")

    def __init__(self, url: str, ports: Sequence[int]) -> None:
        super().__init__(url)
        self._ports = cycle(ports)
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))

    async def wait_until_ready(self, workers: int) -> None:
        """Wait until all replicas respond."""
        for _ in range(workers):
            port = next(self._ports)
            while not await self._is_up(port):  # noqa: ASYNC110 - of other processes
                await asyncio.sleep(RETRY_SECONDS)

    async def _is_up(self, port: int) -> bool:
        try:
            async with self._session.get(f"http://127.0.0.1:{port}/health") as response:
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def submit(self, run_id: str) -> None:
        """Submit a run to one replica after the other until one accepts it."""
        form = {"message": "Make all.", "session_id": run_id, "background": "true", "stream": "false"}
        while True:
            try:
                async with self._session.post(
                    f"http://127.0.0.1:{next(self._ports)}/agents/maker/runs", data=form, headers={"Idempotency-Key": run_id}
                ) as response:
                    if response.status < 300:
                        return
            except (aiohttp.ClientError, TimeoutError, OSError):
                pass
            await asyncio.sleep(RETRY_SECONDS / 5)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()


def _make_queue(peer: Peer, url: str, folder: Path, ports: Sequence[int]) -> EngineQueue:
    if not peer.module:
        return TreadleQueue(url, folder)
    return AgnoQueue(url, ports) if peer.module == "agno_os" else DbosQueue(url)


async def run_peers(python: str, kills: int, pause: float, seed: int, shape: ClusterShape, folder: Path) -> list[PeerResult]:
    """Measure each engine on a database of its own, with the same instants of kills."""
    results: list[PeerResult] = []
    for number, peer in enumerate(PEERS):
        place = folder / str(number)
        place.mkdir()
        command = [python, "-m", f"bench.scale.peer_workers.{peer.module}"] if peer.module else []
        with started() as database:
            results += [await _run(peer, command, kills, pause, random.Random(seed), shape, database, place)]
        print(results[-1], flush=True)
    return results


async def _run(
    peer: Peer,
    command: Sequence[str],
    kills: int,
    pause: float,
    chance: random.Random,
    shape: ClusterShape,
    database: PostgresServer,
    folder: Path,
) -> PeerResult:
    (folder / "effects").touch()
    run_ids: list[str] = []
    began, done = monotonic(), Kills()
    async with Cluster(shape, database.url, folder, command, peer.how) as cluster:
        queue = _make_queue(peer, database.url, folder, cluster.worker_ports)
        try:
            await queue.wait_until_ready(shape.workers)
            killing = asyncio.create_task(kill_members(cluster, database, kills, pause, chance, done))
            while not killing.done():
                run_ids.append(f"run-{len(run_ids)}")
                await queue.submit(run_ids[-1])
                while len(run_ids) % 10 == 0 and not killing.done() and await queue.count_unfinished() > IN_FLIGHT:  # noqa: ASYNC110
                    await asyncio.sleep(RETRY_SECONDS)
            await killing
            lost = await queue.find_lost(run_ids, monotonic() + AFTER_KILLS)
        finally:
            await queue.close()
    made = Counter((folder / "effects").read_text("utf-8").splitlines())
    wanted = {f"{run_id} {number}" for run_id in run_ids for number in range(1, EFFECTS + 1)}
    return PeerResult(
        name=peer.name,
        kills=done,
        runs=len(run_ids),
        lost=len(lost),
        effects_twice=sum(each > 1 for each in made.values()),
        effects_missing=len(wanted - made.keys()),
        seconds=monotonic() - began,
    )
