"""The process that is measured: `load` carries out batches of runs when asked to, `soak` runs without end and says how far it is.

It is spoken to as `bench.processes` says, and ends when its standard input closes.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.durable.steady import Steady
from bench.processes import allow_many_sockets
from treadle import Agent, Home, Limits, allow, open_home, tool
from treadle.core.calls import Written
from treadle.core.requests import CallDone, Delta, ReplyEnded, Usage
from treadle.home import close_homes
from treadle.models import Request, TextDelta, Traits

LIMITS = Limits(rounds=None)
TICKS = os.sysconf("SC_CLK_TCK")


class Gate:
    """Opens when so many have come: then that many are under way."""

    def __init__(self, many: int) -> None:
        self._left = many
        self._open = asyncio.Event()
        self.most = self._under_way = 0

    async def come(self) -> None:
        """Come, and wait for the others."""
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        self._left -= 1
        if self._left <= 0:
            self._open.set()
        await self._open.wait()

    def leave(self) -> None:
        """One is over."""
        self._under_way -= 1


class Asking:
    """A model that asks for so many calls, one a reply. It goes by the conversation alone."""

    name = "asking"
    traits = Traits()

    def __init__(self, many: int) -> None:
        self._many = many

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The next call, or the answer."""
        so_far = sum(message.role == "tools" for message in request.history)
        usage = Usage(requests=1, input_tokens=10, output_tokens=5)
        if so_far == self._many:
            yield TextDelta("All done.")
            yield ReplyEnded("done", usage)
        else:
            arguments = json.dumps({"number": so_far, "text": "a sentence of an ordinary length"})
            yield CallDone(Written(f"call_{so_far}", "act", arguments))
            yield ReplyEnded("calls", usage)


async def batch(home: Home | None, runs: int, many: int, name: str) -> dict[str, float]:
    """So many runs at once, of so many calls each."""
    gate, done = Gate(runs), 0

    @tool(effect="write", retry="keyed")
    async def act(number: int, text: str) -> str:
        """Act."""
        nonlocal done
        done += 1
        return f"done {number}"

    agent = Agent(Asking(many), tools=[act], policy=[allow("*")], limits=LIMITS)

    async def one(number: int) -> None:
        await gate.come()
        kept: dict[str, Any] = {} if home is None else {"journal": home.services()}
        result = await agent.run("Do it.", run_id=f"{name}-{number}", **kept)
        assert result.stopped == "answered", result.reason
        gate.leave()

    begun, cpu, server, size = time.perf_counter(), time.process_time(), _server_time(), _size(home)
    await asyncio.gather(*[one(number) for number in range(runs)])
    wall, spent = time.perf_counter() - begun, time.process_time() - cpu
    assert done == runs * many
    return {
        "a_second": done / wall,
        "cpu_ms": spent * 1000 / done,
        "server_ms": (_server_time() - server) * 1000 / done,
        "together": gate.most,
        "kib_a_call": (_size(home) - size) / 1024 / done,
    }


def _size(home: Home | None) -> int:
    """Bytes of the database file and what is written ahead of it; none where it isn't a file."""
    return 0 if home is None else sum(path.stat().st_size for path in Path(home.folder).glob("treadle.db*"))


def _server_time() -> float:
    """CPU seconds of all of PostgreSQL's processes, those that have ended included."""
    spent = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition(") ")
        except OSError:  # it has just ended
            continue
        if name.endswith("(postgres"):
            spent += sum(int(each) for each in rest.split()[11:15])
    return spent / TICKS


async def loaded(store: str, url: str) -> None:
    """Batches, as they are asked for."""
    with tempfile.TemporaryDirectory() as folder:
        home = None if store == "none" else open_home(Path(folder), database=url)
        for number, line in enumerate(iter(sys.stdin.readline, "")):
            wanted = json.loads(line)
            print(json.dumps(await batch(home, wanted["runs"], wanted["calls"], f"b{number}")), flush=True)
        close_homes()


async def soaked(port: int, folder: Path, at_once: int) -> None:
    """Runs without end; a line on standard input is answered with how far they are."""
    steady = Steady(port, folder, at_once)
    working = asyncio.create_task(steady.work())
    while await asyncio.to_thread(sys.stdin.readline):
        if working.done():
            working.result()
        print(json.dumps(steady.told()), flush=True)
    working.cancel()
    await asyncio.wait([working])
    await steady.close()


if __name__ == "__main__":
    allow_many_sockets()
    match sys.argv[1:]:
        case ["load", store, url]:
            asyncio.run(loaded(store, url))
        case ["soak", port, folder, at_once]:
            asyncio.run(soaked(int(port), Path(folder), int(at_once)))
        case _:
            raise SystemExit(__doc__)
