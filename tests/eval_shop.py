"""A small shop for evaluations: an agent whose model answers by what it is asked."""

from collections.abc import AsyncIterator
from pathlib import Path

from treadle import Agent, tool
from treadle.evals import CaseRun
from treadle.models import Delta, Request
from treadle.testing import Scripted, calls

STOCK = {"A-113": 40, "B-7": 0}
orders: list[tuple[str, int]] = []


@tool(effect="read")
def stock(item: str) -> dict[str, int]:
    """Return how many there are of an item."""
    return {"count": STOCK[item]}


@tool(effect="write")
def order(item: str, count: int) -> str:
    """Order more of an item."""
    orders.append((item, count))
    return f"ordered {count} of {item}"


class ByPrompt:
    """A model whose replies depend on the first message: a script for each."""

    def __init__(self, scripts: dict[str, list[object]], name: str = "by-prompt") -> None:
        self.scripts = scripts
        self.name = name
        self.traits = Scripted("x").traits
        self.asked = 0

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        self.asked += 1
        people = [message for message in request.history if message.role == "person"]
        done = sum(message.role == "model" for message in request.history[request.history.index(people[-1]) :])
        script = self.scripts[people[-1].parts[0].text]
        async for delta in Scripted(script[min(done, len(script) - 1)]).reply(request):
            yield delta


SCRIPTS = {
    "How many A-113?": [calls(("stock", {"item": "A-113"})), "There are 40 of A-113."],
    "Order ten B-7.": [calls(("stock", {"item": "B-7"})), calls(("order", {"item": "B-7", "count": 10})), "I ordered 10."],
    "As JSON, please.": ['{"item": "A-113", "count": 40, "more": [1, 2]}'],
}
agent = Agent(ByPrompt(SCRIPTS), tools=[stock, order], name="shop")


def writer(workspace: Path) -> Agent:
    """Return an agent that writes into its workspace."""

    @tool(effect="write")
    def write(name: str, text: str) -> str:
        """Write a file."""
        (workspace / name).write_text(text)
        return "written"

    return Agent(Scripted(calls(("write", {"name": "out.txt", "text": "forty"})), "Done."), tools=[write])


def has_forty(run: CaseRun) -> bool:
    return "40" in run.output


async def is_short(run: CaseRun) -> str | None:
    return None if len(run.output) < 10 else f"{len(run.output)} characters"
