"""Servers and workers as processes on one database, each with a folder of its own, and what kills them."""

import asyncio
import os
import random
import signal
import socket
import sys
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import Struct

from bench.faults.postgres import Server as PostgresServer

KEY = b64encode(b"k" * 32).decode()
TREADLE = (sys.executable, "-m", "treadle.cli.main")


class ClusterShape(Struct, frozen=True):
    """How many servers and workers there are, how many runs a worker has at once, and how long a lease lasts."""

    servers: int = 3
    workers: int = 6
    at_once: int = 4
    lease: float = 2.0

    def worker_command(self) -> list[str]:
        """The command of a worker of ours."""
        options = ["-q", "--at-once", str(self.at_once), "--lease", str(self.lease), "--agents", "bench.scale.program"]
        return [*TREADLE, "worker", *options]


class Member:
    """A server or a worker, which is started again when it has ended."""

    def __init__(self, name: str, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.name = name
        self._command = command
        self._folder = folder / name
        self._environment = environment | {"TREADLE_HOME": str(self._folder / "home"), "HOME": str(self._folder)}
        self._process: asyncio.subprocess.Process | None = None
        self._log: Any = None
        self.ended = 0  # how often it ended by itself

    async def start(self) -> None:
        """Start it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(*self._command, env=self._environment, stdout=log, stderr=log)

    async def keep(self) -> None:
        """Start it again whenever it has ended."""
        while True:
            assert self._process is not None
            code = await self._process.wait()
            self.ended += code != -signal.SIGKILL
            await self.start()

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def stop(self) -> None:
        """End it for good."""
        self.kill()
        if self._process is not None:
            await self._process.wait()


class Cluster:
    """The processes of a cluster. `peer` starts a worker of another engine: its name, `at_once`, `how` and a port follow."""

    def __init__(self, shape: ClusterShape, url: str, folder: Path, peer: Sequence[str] = (), how: str = "") -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "TREADLE_DATABASE": url,
            "TREADLE_KEY": KEY,
            "SCALE_EFFECTS": str(folder / "effects"),
            "OLLAMA_HOST": "http://127.0.0.1:9",
        }
        self.ports = [_free_port() for _ in range(shape.servers)]
        self.worker_ports = [_free_port() for _ in range(shape.workers)]  # for those of other engines
        self.servers = [
            Member(f"server-{number}", [*TREADLE, "serve", "--port", str(port), "--no-token"], folder, environment)
            for number, port in enumerate(self.ports)
        ]
        self.workers = [
            Member(name, [*peer, name, str(shape.at_once), how, str(port)] if peer else shape.worker_command(), folder, environment)
            for name, port in zip([f"worker-{number}" for number in range(shape.workers)], self.worker_ports, strict=True)
        ]
        self._keeping: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Cluster":
        for member in (*self.servers, *self.workers):
            await member.start()
            self._keeping.append(asyncio.create_task(member.keep()))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        await asyncio.gather(*[member.stop() for member in (*self.servers, *self.workers)])

    @property
    def ended(self) -> dict[str, int]:
        """How often members ended without being killed."""
        return {member.name: member.ended for member in (*self.servers, *self.workers) if member.ended}

    def address(self, chance: random.Random) -> str:
        """The address of any server."""
        return f"http://127.0.0.1:{chance.choice(self.ports)}"


class Kills(Struct):
    """How often what was killed, and when there was no database."""

    workers: int = 0
    servers: int = 0
    databases: int = 0
    outages: list[tuple[float, float]] = []

    @property
    def total(self) -> int:
        """All of them."""
        return self.workers + self.servers + self.databases

    def outage(self, since: float, until: float) -> float:
        """How many of the seconds between two times there was no database."""
        return sum(max(0.0, min(until, end) - max(since, begin)) for begin, end in self.outages)


async def kill_members(
    cluster: Cluster, database: PostgresServer, kills: int, pause: float, chance: random.Random, done: Kills
) -> None:
    """Kill workers, servers and the database at random instants: so many of seven, two and one in ten; workers for servers."""
    while done.total < kills:
        await asyncio.sleep(chance.uniform(0, 2 * pause))
        kind = chance.random()
        if kind < 0.7 or (kind < 0.9 and not cluster.servers):
            chance.choice(cluster.workers).kill()
            done.workers += 1
        elif kind < 0.9:
            chance.choice(cluster.servers).kill()
            done.servers += 1
        else:
            began = monotonic()
            await asyncio.to_thread(database.restart, "immediate", chance.uniform(0, 2))
            done.outages.append((began, monotonic()))
            done.databases += 1


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
