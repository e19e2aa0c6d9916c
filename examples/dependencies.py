"""Dependencies: objects of the program that tools and instructions use, and that the model doesn't see."""

import os
from dataclasses import dataclass

from treadle import Agent, RunContext, tool
from treadle.testing import Scripted, calls


@dataclass
class Shop:
    owner: str
    stock: dict[str, int]


def instructions(ctx: RunContext[Shop]) -> str:
    return f"You help in the shop of {ctx.deps.owner}."


@tool(effect="read")
def count(ctx: RunContext[Shop], item: str) -> int:
    """Return how many of an item are in stock."""
    return ctx.deps.stock[item]


model = os.environ.get("TREADLE_MODEL") or Scripted(calls(("count", {"item": "A-113"})), "Ann has 40 of A-113.")
agent = Agent(model, tools=[count], instructions=instructions, deps_type=Shop)
print(agent.run_sync("How many of A-113?", deps=Shop("Ann", {"A-113": 40})).output)
