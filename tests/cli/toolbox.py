"""Tools for the command line's tests."""

from pathlib import Path

from treadle import Agent, RunContext, tool
from treadle.models.scripted import calls
from treadle.testing import Scripted


@tool(effect="read")
def stock(item: str) -> int:
    """How many of an item are on the shelf."""
    return 40


@tool(effect="write")
def order(ctx: RunContext, item: str, count: int = 1) -> str:
    """Order some."""
    ctx.progress("on the phone")
    return f"{count} {item} ordered for {ctx.user or 'nobody'}"


@tool(effect="read")
def boom() -> str:
    """Fails."""
    raise ValueError("it \x1b[31mbroke\x1b[0m")


@tool(effect="read")
def here() -> str:
    """Which folder this is."""
    return str(Path.cwd())


def untyped(item):
    """A function that doesn't say what it takes."""
    return item


helper = Agent(Scripted(calls(("stock", {"item": "A"})), "The helper says 40."), tools=[stock], name="helper")


def _buy(request):
    """Goes by the conversation alone, so that it also goes on in another process."""
    done = any(message.role == "tools" for message in request.history)
    return "Bought." if done else calls(("order", {"item": "A"}))


buyer = Agent(Scripted(_buy, _buy), tools=[order], name="buyer")


@tool(preview=lambda amount: f"-balance: 12\n+balance: {12 - amount}")
def refund(amount: int) -> str:
    """Give money back."""
    return f"{amount} given back"
