"""Typed tools and structured output."""

import os
from dataclasses import dataclass
from typing import Literal

from pydantic_ai import Agent, ModelRetry
from scripted import calls, scripted

STOCK = {"A-113": 40, "B-7": 0}


@dataclass
class Report:
    item: str
    count: int
    reorder: bool = False


model = os.environ.get("MODEL") or scripted(
    calls(("count", {"item": "B7"}), ("count", {"item": "B-7", "warehouse": "east"})),
    calls(("count", {"item": "B-7"})),
    calls(("final_result", {"item": "B-7"})),
    calls(("final_result", {"item": "B-7", "count": 0, "reorder": True})),
)
agent = Agent(model, output_type=Report, instructions="You help in a warehouse.")


@agent.tool_plain
def count(item: str, warehouse: Literal["north", "south"] = "north") -> int:
    """Return how many of an item are in stock.

    Args:
        item: article number
        warehouse: which warehouse to look in
    """
    if item not in STOCK:
        raise ModelRetry(f"There is no item {item}.")
    return STOCK[item]


report = agent.run_sync("How many of B-7 are there?").output
print(f"{report.item}: {report.count}, reorder: {report.reorder}")
