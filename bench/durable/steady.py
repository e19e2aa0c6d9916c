"""Runs that never end to come, against models and tools of which two in ten fail: what a server does all day.

Each run pays the items of an order (`bench.model_faults.orders`). Tools raise, or take too long; some runs are given up by whoever
asked, some wait for a person, who answers.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from bench.model_faults.orders import Order
from bench.model_faults.runs import TIMEOUTS, WAYS
from treadle import Agent, Limits, Model, RunContext, allow, ask, open_home, tool
from treadle.home import close_homes
from treadle.models.http import close_model_connections
from treadle.models.wires.anthropic import Anthropic
from treadle.models.wires.openai import OpenAI

LIMITS = Limits(tries=15, backoff=0.002, nudge_at=25, refuse_at=25)  # this model asks again for what failed, and nothing else
SHARE = 0.2  # of calls that go wrong
LEFT = 0.05  # of runs that whoever asked gives up
ASKED = 0.1  # of runs that ask for an approval
FIRST = 10_000_000  # the number of the first order
PAGE = os.sysconf("SC_PAGE_SIZE")


class Steady:
    """Keeps so many runs under way."""

    def __init__(self, port: int, folder: Path, at_once: int) -> None:
        self._home = open_home(folder)
        self._at_once = at_once
        self._chance = Random(4711)
        self._next = FIRST
        self._agents = [
            _agent(port, wire, self._pay(), stream=stream, asks=asks) for wire, stream in WAYS for asks in (False, True)
        ]
        self.counts = dict.fromkeys(("answered", "left", "waited", "other", "calls", "failed calls"), 0)
        self.last_words = ""

    async def work(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._line())

    async def _line(self) -> None:
        while True:
            self._next += 1
            await self._one(Order(f"r{self._next}", 2 + self._next % 7))

    async def _one(self, order: Order) -> None:
        way, chance = self._chance.randrange(len(WAYS)), self._chance.random()
        agent = self._agents[2 * way + (chance < ASKED)]
        if chance > 1 - LEFT:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await agent.run(order.prompt, run_id=order.name, journal=self._home.services())
            self.counts["left"] += 1
            return
        result = await agent.run(order.prompt, run_id=order.name, journal=self._home.services())
        while result.stopped == "waiting":
            self.counts["waited"] += 1
            for approval in result.approvals:
                await agent.approve(order.name, approval.call_id, by="Ann", journal=self._home.services())
            result = await agent.resume(order.name, journal=self._home.services())
        self.counts["answered" if result.stopped == "answered" else "other"] += 1
        if result.stopped != "answered":
            self.last_words = f"{order.name}, which {result.stopped}: {result.reason or result.text}"

    def _pay(self) -> Any:
        @tool(description="Pay an item of an order.", timeout=0.2)
        async def pay(ctx: RunContext[Any], order: str, item: int, amount: int) -> str:
            self.counts["calls"] += 1
            fate = Random(f"{ctx.key}").random()
            if fate < SHARE:
                self.counts["failed calls"] += 1
                if fate < SHARE / 4:
                    await asyncio.sleep(60)  # it is given up
                raise OSError(f"the bank is closed for {order}")
            return f"paid {order}/{item}"

        return pay

    def told(self) -> dict[str, Any]:
        """How far it is, and what the process has."""
        files = [path.stat().st_size for path in self._home.folder.glob("treadle.db*")]
        return {
            **self.counts,
            "memory": int(Path("/proc/self/statm").read_text().split()[1]) * PAGE,
            "handles": _many("/proc/self/fd"),
            "threads": _many("/proc/self/task"),
            "tasks": len(asyncio.all_tasks()),
            "database": sum(files),
            "last words": self.last_words,
        }

    async def close(self) -> None:
        """Let go of everything."""
        await close_model_connections()
        close_homes()


def _many(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


def _agent(port: int, wire: str, pay: Any, *, stream: bool, asks: bool) -> Agent[Any, str]:
    how: dict[str, Any] = {"api_key": "none", "stream": stream, "timeouts": TIMEOUTS}
    model: Model = (
        OpenAI("faulty", base_url=f"http://127.0.0.1:{port}/v1", **how)
        if wire == "openai"
        else Anthropic("faulty", base_url=f"http://127.0.0.1:{port}", **how)
    )
    return Agent(model, tools=[pay], policy=[ask("*") if asks else allow("*")], limits=LIMITS)
