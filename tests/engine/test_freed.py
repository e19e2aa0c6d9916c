"""A run that is over is freed at once: thousands of them would otherwise wait for the garbage collector."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import msgspec
import pytest

from treadle import Agent, Limits, ToolProblem, allow, ask, tool
from treadle.core.errors import ModelUnavailable
from treadle.core.requests import Delta, Request
from treadle.engine.live import LiveRun
from treadle.testing import Scripted, calls

RECORDED = ("treadle.core.entries", "treadle.core.messages", "treadle.loop.state", "treadle.loop.repeats")


@tool(effect="read")
def look(item: str) -> str:
    """Look an item up."""
    return f"{item}: 4"


@tool
def order(item: str) -> str:
    """Order an item."""
    return f"ordered {item}"


@tool(effect="read")
def fail(item: str) -> str:
    """Fail."""
    raise ToolProblem(f"no {item}")


@dataclass
class Stock:
    item: str
    left: int


class Forgetful(Scripted):
    """A scripted model that doesn't keep the requests, which can report progress to the run."""

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        try:
            async for delta in super().reply(request):
                yield delta
        finally:
            self.requests.clear()


class Down:
    """A model whose server is down."""

    name = "down"
    traits = Scripted().traits

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        raise ModelUnavailable("down")
        yield


LOOKED = calls(("look", {"item": "nails"}))
ORDERED = calls(("order", {"item": "nails"}))


async def answer() -> None:
    await Agent(Scripted(LOOKED, "4."), tools=[look]).run("How many?")


async def wait_for_approval() -> None:
    agent = Agent(Scripted(LOOKED, ORDERED, "Ordered."), tools=[look, order], policy=[allow("look"), ask("*")])
    assert (await agent.run("Order some.")).stopped == "waiting"


async def stream() -> None:
    async for _ in Agent(Forgetful(LOOKED, "4."), tools=[look]).stream("How many?"):
        pass


async def structure() -> None:
    await Agent(Scripted(LOOKED, '{"item": "nails", "left": 4}'), tools=[look], output_type=Stock).run("How many?")


async def call_a_failing_tool() -> None:
    await Agent(Scripted(calls(("fail", {"item": "nails"})), "None."), tools=[fail]).run("How many?")


async def ask_a_model_that_is_down() -> None:
    assert (await Agent(Down(), limits=Limits(tries=1)).run("How many?")).stopped == "failed"


async def ask_an_agent() -> None:
    clerk = Agent(Scripted(LOOKED, "4."), name="clerk", tools=[look])
    await Agent(Scripted(calls(("clerk", {"prompt": "nails?"})), "4."), tools=[clerk.as_tool()]).run("How many?")


async def cancel() -> None:
    asked = asyncio.Event()

    async def hang() -> AsyncIterator[Delta]:
        asked.set()
        await asyncio.Event().wait()
        yield  # pyright: ignore[reportReturnType]

    agent = Agent(Scripted(hang()))
    task = asyncio.create_task(agent.run("How many?"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def _live_runs() -> set[str]:
    return {found.id for found in gc.get_objects() if isinstance(found, LiveRun)}


@pytest.fixture
def without_collector() -> Generator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize(
    "run",
    [answer, wait_for_approval, stream, structure, call_a_failing_tool, ask_a_model_that_is_down, ask_an_agent, cancel],
    ids=lambda run: run.__name__,
)
def test_a_run_is_freed_when_it_is_over(run: Callable[[], Coroutine[Any, Any, None]]):
    before = _live_runs()  # of other tests, whose failures keep them
    asyncio.run(run())
    deadline = monotonic() + 120
    while _live_runs() - before and monotonic() < deadline:  # the thread that has called a function lets go of it a moment later
        sleep(0.001)
    assert _live_runs() <= before


def test_what_a_run_records_costs_the_garbage_collector_nothing():
    """Thousands of runs at once have hundreds of thousands of messages, entries and states, none of which is ever in a cycle."""
    seen: set[str] = set()

    @tool(effect="read")
    def look_around(item: str) -> str:
        """Look an item up."""
        found = [type(each) for each in gc.get_objects() if isinstance(each, msgspec.Struct)]
        seen.update([kind.__qualname__ for kind in found if kind.__module__ in RECORDED])
        return f"{item}: 4"

    script = [*[calls(("look_around", {"item": item})) for item in ("nails", "bolts", "tin")], "Plenty."]
    result = asyncio.run(Agent(Scripted(*script), tools=[look_around]).run("How many?"))
    assert result.output == "Plenty."
    assert seen == set()
