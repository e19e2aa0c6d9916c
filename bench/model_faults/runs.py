"""Orders carried out by agents whose models are the faulty server, and all that was seen of each from outside."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.model_faults.orders import Order
from bench.model_faults.server import Asked, FaultyServer
from treadle import Agent, Limits, allow, open_home, tool
from treadle.core.entries import Entry
from treadle.core.events import Event, ModelAsked, ModelRetried, ReplyArrived, TextArrived
from treadle.engine.result import RunResult
from treadle.home import close_home
from treadle.models.connections import Timeouts
from treadle.models.wires.anthropic import Anthropic
from treadle.models.wires.openai import OpenAI

WAYS = [(wire, stream) for wire in ("openai", "anthropic") for stream in (True, False)]
TIMEOUTS = Timeouts(connect=5.0, first_byte=1.5, idle=1.5)
LIMITS = Limits(tries=15, backoff=0.002)  # three in ten go wrong, so fifteen in a row about never do
TOGETHER = 40  # runs under way at once

Effects = Counter[tuple[str, int, int]]


class Screen:
    """Somebody who watches: text of a try that failed is wiped out, text of a reply stays."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.retried: list[ModelRetried] = []
        self._coming = ""

    def __call__(self, event: Event) -> None:
        """See one event."""
        match event:
            case TextArrived():
                self._coming += event.text
            case ModelAsked():
                self._coming = ""
            case ModelRetried():
                self._coming = ""
                self.retried.append(event)
            case ReplyArrived():
                self.kept.append(self._coming)
            case _:
                pass


class Carried(Struct, frozen=True):
    """What one run came to: its result, its journal as it is on disk, what a watcher saw, what the server got, what happened."""

    order: Order
    result: RunResult[str]
    journal: list[Entry]
    screen: Screen
    asked: list[Asked]
    effects: Effects


class Works:
    """Carries orders out. Effects are counted here, outside of the engine."""

    def __init__(self, server: FaultyServer, folder: Path) -> None:
        self._server = server
        self._home = open_home(folder)
        self._happened: defaultdict[str, list[tuple[str, int, int]]] = defaultdict(list)
        self._agents = [_agent(server.port, wire, self._pay(), stream=stream) for wire, stream in WAYS]

    def close(self) -> None:
        """Let go of the stores."""
        close_home(self._home)

    async def all(self, orders: Iterable[Order], ways: Iterable[int]) -> list[Carried]:
        """Carry orders out, each over one of the `WAYS`, so many at once."""
        turns = asyncio.Semaphore(TOGETHER)

        async def one(order: Order, way: int) -> Carried:
            async with turns:
                return await self._carry_out(order, way)

        return await asyncio.gather(*[one(order, way) for order, way in zip(orders, ways, strict=True)])

    async def _carry_out(self, order: Order, way: int) -> Carried:
        screen = Screen()
        services = self._home.services()
        result = await self._agents[way].run(order.prompt, run_id=order.name, journal=services, watchers=[screen])
        assert services.journal is not None, "a home has one"
        journal = await services.journal.read(order.name)
        return Carried(order, result, journal, screen, self._server.asked[order.name], Counter(self._happened[order.name]))

    def _pay(self) -> Any:
        @tool(description="Pay an item of an order.")
        async def pay(order: str, item: int, amount: int) -> str:
            self._happened[order].append((order, item, amount))
            await asyncio.sleep(0)
            return f"paid {order}/{item}"

        return pay


def _agent(port: int, wire: str, pay: Any, *, stream: bool) -> Agent[Any, str]:
    how: dict[str, Any] = {"api_key": "none", "stream": stream, "timeouts": TIMEOUTS}
    if wire == "openai":
        model: Any = OpenAI("faulty", base_url=f"http://127.0.0.1:{port}/v1", **how)
    else:
        model = Anthropic("faulty", base_url=f"http://127.0.0.1:{port}", **how)
    return Agent(model, tools=[pay], policy=[allow("*")], limits=LIMITS)
