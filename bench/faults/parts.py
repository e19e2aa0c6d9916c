"""What a run is made of here: tools of every retry class that act on the world, and a model that sticks to a plan."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from bench.faults.orders import Order
from bench.faults.plans import DONE, Plan, next_round, plan_of
from bench.faults.points import Points
from bench.faults.world import World
from treadle import Call, RunContext, Usage, tool
from treadle.core.calls import Written
from treadle.models import CallDone, Delta, ReplyEnded, Request, TextDelta, Traits

TRADES = ("once", "keyed", "checkable", "idempotent")


class PlannedModel:
    """Asks for what its plan has next, by what was asked before; a reply to the same conversation is always the same."""

    name = "planned"

    def __init__(self, order: Order, points: Points) -> None:
        self.traits = Traits(streams=order.streamed)
        self._plan: Plan = plan_of(order.plan)
        self._points = points

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The calls of the next round, with a pause after each where replies come in pieces."""
        self._points.pass_by("model asked")
        asked = [(part.name, part.arguments["number"]) for said in request.history for part in said.parts if isinstance(part, Call)]
        wanted = next_round(self._plan, asked)
        if not wanted:
            yield TextDelta(DONE)
        for retry, number in wanted:
            text = msgspec.json.encode({"number": number}).decode()
            yield CallDone(Written(f"c{number}", retry, text))
            if self.traits.streams:
                await asyncio.sleep(0)
                self._points.pass_by("within reply")
        yield ReplyEnded("calls" if wanted else "done", Usage(requests=1), self.name)
        self._points.pass_by("reply ended")


class Trades:
    """The tools, for any run of one world."""

    def __init__(self, order: Order, world: World, points: Points) -> None:
        self._order = order
        self._world = world
        self._points = points

    def tools(self) -> list[Any]:
        """One of each retry class."""

        @tool
        async def once(ctx: RunContext[None], number: int) -> str:
            """An effect that may happen once."""
            return await self._act(ctx, f"once {number}")

        @tool(retry="keyed")
        async def keyed(ctx: RunContext[None], number: int) -> str:
            """An effect whose receiver knows the keys it has seen."""
            return await self._act(ctx, f"keyed {number}", ctx.key)

        @tool(retry="checkable", reconcile=self._asked)
        async def checkable(ctx: RunContext[None], number: int) -> str:
            """An effect that can be asked about."""
            return await self._act(ctx, f"checkable {number}")

        @tool(retry="idempotent")
        async def idempotent(ctx: RunContext[None], number: int) -> str:
            """An effect that may happen any number of times."""
            return await self._act(ctx, f"idempotent {number}")

        @tool(effect="read")
        async def read(ctx: RunContext[None], number: int) -> str:
            """No effect."""
            return await self._act(ctx, f"read {number}", silent=True)

        return [once, keyed, checkable, idempotent, read]

    async def _act(self, ctx: RunContext[None], effect: str, key: str = "", *, silent: bool = False) -> str:
        self._points.pass_by("tool begins")
        if not silent:
            self._world.happen(ctx.run_id, effect, key)
        self._points.pass_by("tool acted")
        await asyncio.sleep(self._order.tail)
        self._points.pass_by("tool ends")
        return effect + "." * self._order.bulk

    async def _asked(self, ctx: RunContext[None], number: int) -> str | None:
        effect = f"checkable {number}"
        self._points.pass_by("tool is asked")
        happened = self._world.has(ctx.run_id, effect)
        self._points.pass_by("tool has answered")
        return effect if happened else None
