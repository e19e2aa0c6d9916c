"""Code mode: the model writes one program in place of many calls; the one call that changes something waits for approval.

Needs `pip install "treadle[code]"`.
"""

import os
from typing import TypedDict

from treadle import Agent, Approval, allow, ask, tool
from treadle.models import Request
from treadle.testing import Scripted, calls

PROGRAM = """
import asyncio
rows = await list_stock()
low = [row for row in rows if row["count"] < 10]
prices = await asyncio.gather(*[price(row["item"]) for row in low])
best = min(zip(prices, [row["item"] for row in low]))
await order(best[1], 20)
"""


class Row(TypedDict):
    """An item in stock."""

    item: str
    count: int


@tool(effect="read")
def list_stock() -> list[Row]:
    """List what is in stock."""
    return [{"item": "B-7", "count": 3}, {"item": "C-1", "count": 40}, {"item": "D-2", "count": 5}]


@tool(effect="read")
def price(item: str) -> float:
    """Return the price of an item."""
    return {"B-7": 4.5, "D-2": 2.25}[item]


@tool
def order(item: str, count: int) -> str:
    """Order more of an item."""
    return f"ordered {count} of {item}"


def approve(approval: Approval) -> bool:
    """Answer for the user."""
    print(f"approved: {approval.name}({approval.arguments})")
    return True


def answer(request: Request) -> str:
    """Return the scripted model's answer."""
    return "D-2 is the cheapest item that is low, and 20 more are ordered."


model = os.environ.get("TREADLE_MODEL") or Scripted(calls(("run_program", {"program": PROGRAM})), answer)
agent = Agent(model, tools=[list_stock, price, order], code_mode=True, policy=[ask("order"), allow("*")], approver=approve)

result = agent.run_sync("Order 20 more of the cheapest item that is low.")
for call in result.calls:
    print(f"{call.name}: {call.result.content if call.result else ''}")
print(result.output)
