"""Dependencies: objects of the program that tools and instructions use, and that the model doesn't see."""

import os
from dataclasses import dataclass

from pydantic_ai import Agent, RunContext
from scripted import calls, scripted


@dataclass
class Shop:
    owner: str
    stock: dict[str, int]


model = os.environ.get("MODEL") or scripted(calls(("count", {"item": "A-113"})), "Ann has 40 of A-113.")
agent = Agent(model, deps_type=Shop)


@agent.instructions
def instructions(ctx: RunContext[Shop]) -> str:
    return f"You help in the shop of {ctx.deps.owner}."


@agent.tool
def count(ctx: RunContext[Shop], item: str) -> int:
    """Return how many of an item are in stock."""
    return ctx.deps.stock[item]


print(agent.run_sync("How many of A-113?", deps=Shop("Ann", {"A-113": 40})).output)
