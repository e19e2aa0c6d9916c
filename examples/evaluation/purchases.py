"""The agent that is evaluated, and a check in code."""

from treadle import Agent, Model, tool
from treadle.evals import CaseRun
from treadle.testing import Scripted, calls

STOCK = {"A-113": 40, "B-7": 0}


@tool(effect="read")
def stock(item: str) -> int:
    """Return how many there are of an item."""
    return STOCK[item]


@tool(effect="write")
def order(item: str, count: int) -> str:
    """Order more of an item."""
    return f"ordered {count} of {item}"


def purchaser(model: str | Model) -> Agent:
    """Return the agent of the program."""
    return Agent(model, tools=[stock, order], instructions="Order only what is missing.")


def scripted_purchaser() -> Agent:
    """Return the agent with a scripted model: `-m openai:gpt-5-mini` evaluates a real one."""
    return purchaser(Scripted(calls(("stock", {"item": "B-7"})), calls(("order", {"item": "B-7", "count": 10})), "I ordered 10."))


def orders_little(run: CaseRun) -> str | None:
    """Return why a run is wrong; None where it isn't."""
    ordered = sum(call.arguments["count"] for call in run.calls if call.name == "order")
    return None if ordered <= 10 else f"{ordered} were ordered"
