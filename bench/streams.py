"""`python -m bench.streams`: 100 runs at once and 500 open event streams on one server, for ten minutes.

How late events come at their readers, whether memory stays where it is, and what readers cost that have stopped reading. The floor
is the same number of events through bare sockets, in the same run. The page goes to standard output and `bench/results/streams.md`.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from bench.machine import describe
from bench.report import table
from treadle import FunctionToolset, Model, open_home, tool
from treadle.assistant import Assistant, Host
from treadle.core.calls import Written
from treadle.core.requests import CallDone, Delta, ReplyEnded, Usage
from treadle.models import Request, TextDelta, Traits

RESULTS = Path(__file__).parent / "results" / "streams.md"
RUNS, READERS, STALLED = 100, 5, 10
TICK = 0.5  # seconds between two pieces of text
TICKS = 40  # of them in a run
GOAL = 250.0  # milliseconds at the 95th percentile


class Ticking:
    """A model that calls a tool, and then says what time it is, again and again."""

    name = "ticking"
    traits = Traits()

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The time, as text, in pieces."""
        if not any(message.role == "tools" for message in request.history):
            yield CallDone(Written("call", "look", "{}"))
            yield ReplyEnded("calls", Usage(requests=1, input_tokens=10, output_tokens=5))
            return
        for _ in range(TICKS):
            await asyncio.sleep(TICK)
            yield TextDelta(f"{time.time():.6f} ")
        yield ReplyEnded("done", Usage(requests=1, input_tokens=10, output_tokens=5))


@tool(effect="read")
def look() -> str:
    """Look."""
    return "There it is."


async def serve(folder: Path) -> None:
    """The server, which prints its address."""
    from treadle.server.uvicorn_server import serve_http as serving

    async def model() -> Model:
        return Ticking()

    clock = Assistant("clock", "Clock", "Says the time.", toolsets=lambda host: [FunctionToolset([look])])
    host = Host(open_home(folder), model)
    await serving([clock], host, port=0, no_token=True, on_listening=lambda url: print(url, flush=True))


class Readers:
    """All who read, and how late what they read was."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url.rstrip("/")
        self.late: list[float] = []
        self.ended = 0
        self.open = 0

    async def begin(self) -> str:
        """A new run, over a connection of its own: one that was kept may be closed by the server at the same moment."""
        asked, alone = {"assistant": "clock", "message": "Time?"}, {"connection": "close"}
        async with self._session.post(f"{self._url}/api/runs", json=asked, headers=alone) as answer:
            answer.raise_for_status()
            return (await answer.json())["run_id"]

    async def read(self, run_id: str) -> None:
        """Read a run's events to its end."""
        self.open += 1
        async with self._session.get(f"{self._url}/api/runs/{run_id}/events") as answer:
            async for line in answer.content:
                if line.startswith(b"data: "):
                    self._heard(json.loads(line[6:]))
        self.open -= 1

    def _heard(self, event: dict[str, Any]) -> None:
        if event["event"] == "text_arrived":
            now = time.time()
            self.late += [(now - float(said)) * 1000 for said in event["text"].split()[-1:]]
        elif event["event"] == "reply":
            self.ended += 1

    async def one_after_the_other(self, until: float) -> None:
        """Runs, each with its readers, until the time is over."""
        while time.monotonic() < until:
            run_id = await self.begin()
            await asyncio.gather(*[self.read(run_id) for _ in range(READERS)])

    async def stall(self, until: float) -> None:
        """Open a stream and never read from it."""
        host, port = self._url.removeprefix("http://").split(":")
        while time.monotonic() < until:
            run_id = await self.begin()
            _, writer = await asyncio.open_connection(host, int(port), limit=1)
            writer.transport.pause_reading()  # type: ignore[attr-defined] - sockets have it
            writer.write(f"GET /api/runs/{run_id}/events HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n".encode())
            await asyncio.sleep(TICK * TICKS)
            writer.close()


def resident(pid: int) -> float:
    """Megabytes that a process has to itself."""
    fields = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE") / 1e6


def worked(pid: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measured(seconds: float) -> list[str]:
    """All of it, as a page."""
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.streams", "--serve", folder, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None, "it is piped"
        url = (await process.stdout.readline()).decode().strip()
        try:
            return await _load(url, process.pid, seconds)
        finally:
            process.terminate()
            await process.wait()


async def _load(url: str, pid: int, seconds: float) -> list[str]:
    memory: dict[int, float] = {}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
        readers, began = Readers(session, url), time.monotonic()
        until, before = began + seconds, worked(pid)
        work = [asyncio.create_task(readers.one_after_the_other(until)) for _ in range(RUNS)]
        work += [asyncio.create_task(readers.stall(until)) for _ in range(STALLED)]
        most = 0
        while not all(task.done() for task in work):
            await asyncio.sleep(2)
            most = max(most, readers.open)
            memory[round((time.monotonic() - began) // 60)] = resident(pid)
        await asyncio.gather(*work)
        took = time.monotonic() - began
    return _page(sorted(readers.late), most, readers.ended, (worked(pid) - before) / took, memory, await floor())


async def floor() -> float:
    """How late the same pieces come over bare sockets: 500 of them, from one task to their readers. Milliseconds at p95."""
    late: list[float] = []
    doors: list[asyncio.StreamWriter] = []
    everybody = asyncio.Event()

    async def come(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        doors.append(writer)
        if len(doors) == RUNS * READERS:
            everybody.set()

    async def read(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        late.extend([(time.time() - float(line)) * 1000 async for line in reader])
        writer.close()

    server = await asyncio.start_server(come, "127.0.0.1", 0, backlog=RUNS * READERS)
    reading = [asyncio.create_task(read(server.sockets[0].getsockname()[1])) for _ in range(RUNS * READERS)]
    await everybody.wait()
    for _ in range(20):
        for start in range(0, len(doors), READERS):
            for door in doors[start : start + READERS]:
                door.write(f"{time.time():.6f}\n".encode())
        await asyncio.sleep(TICK)
    for door in doors:
        door.close()
    await asyncio.gather(*reading)
    server.close()
    return sorted(late)[int(len(late) * 0.95)]


def _page(late: list[float], most: int, ended: int, cores: float, memory: dict[int, float], floor_ms: float) -> list[str]:
    def at(share: float) -> float:
        return late[min(int(len(late) * share), len(late) - 1)]

    rows = [[f"{minute} min", f"{memory[minute]:.0f}"] for minute in sorted(memory)]
    machine = describe()
    reached = "reached" if at(0.95) < GOAL else "missed"
    return [
        f"# Event streams: {RUNS} runs at once, {most} open streams, {STALLED} more whose readers never read\n",
        f"{machine.cpu}, {machine.cores} cores for server and readers together, {machine.date}.\n",
        table(
            ["how late, ms", "median", "p95", "p99", "worst", "p95 of the floor"],
            [["text at its reader", f"{at(0.5):.0f}", f"{at(0.95):.0f}", f"{at(0.99):.0f}", f"{late[-1]:.0f}", f"{floor_ms:.0f}"]],
        ),
        f"\n{len(late):,} pieces of text heard, {ended:,} ends of runs; the server used {cores:.2f} of a core.\n",
        table(["after", "memory of the server, MB"], rows),
        f"\nGoal: under {GOAL:.0f} ms at p95: {reached} ({at(0.95):.0f} ms).\n",
    ]


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.serve:
        return asyncio.run(serve(wanted.serve))
    text = "\n".join(asyncio.run(measured(wanted.seconds)))
    print(text)
    if wanted.seconds >= 600:
        RESULTS.write_text(text, "utf-8")
    return None


if __name__ == "__main__":
    main()
