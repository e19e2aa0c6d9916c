"""Typed tools and structured output: invalid arguments and answers go back to the model, which corrects them."""

import os
from dataclasses import dataclass
from typing import Literal

from treadle import Agent, ToolProblem, tool
from treadle.testing import Scripted, calls

STOCK = {"A-113": 40, "B-7": 0}


@dataclass
class Report:
    item: str
    count: int
    reorder: bool = False


@tool(effect="read")
def count(item: str, warehouse: Literal["north", "south"] = "north") -> int:
    """Return how many of an item are in stock.

    :param item: article number
    :param warehouse: which warehouse to look in
    """
    if item not in STOCK:
        raise ToolProblem(f"There is no item {item}.")  # the model reads this
    return STOCK[item]


model = os.environ.get("TREADLE_MODEL") or Scripted(
    calls(("count", {"item": "B7"}), ("count", {"item": "B-7", "warehouse": "east"})),
    calls(("count", {"item": "B-7"})),
    calls(("give_answer", {"item": "B-7"})),
    calls(("give_answer", {"item": "B-7", "count": 0, "reorder": True})),
)
agent = Agent(model, tools=[count], output_type=Report, instructions="You help in a warehouse.")
report = agent.run_sync("How many of B-7 are there?").output
print(f"{report.item}: {report.count}, reorder: {report.reorder}")
