"""What runs are asked to do, and the model that knows how: it pays the items of an order, two a round, those that aren't paid yet.

The model looks at nothing but the request, as models do: what the conversation says is paid is paid.
"""

import re
from random import Random
from typing import Any

from msgspec import Struct

from bench.model_faults.wires import Said

_ORDER = re.compile(rb"Pay the (\d+) items of (r\d+)\.")
_PAID = re.compile(rb"paid (r\d+)/(\d+)")


class Order(Struct, frozen=True):
    """An order of so many items."""

    name: str
    items: int

    @property
    def prompt(self) -> str:
        """How a person asks for it."""
        return f"Pay the {self.items} items of {self.name}."

    @property
    def effects(self) -> dict[tuple[str, int, int], int]:
        """What has to have happened, each once."""
        return {(self.name, item, self.amount(item)): 1 for item in range(1, self.items + 1)}

    def amount(self, item: int) -> int:
        """What an item costs: a number that no cut leaves whole."""
        return 10_000_000 + Random(f"{self.name}/{item}").randrange(10_000_000)


def order_in(body: bytes) -> Order:
    """The order that a request is about."""
    found = _ORDER.search(body)
    assert found is not None, "every prompt names one"
    return Order(found[2].decode(), int(found[1]))


def reply_to(body: bytes, order: Order, number: int) -> Said:
    """What the model says to a request: the next two items, or that all is done. Every reply has words of its own."""
    paid = {int(item) for name, item in _PAID.findall(body) if name.decode() == order.name}
    left = [item for item in range(1, order.items + 1) if item not in paid]
    end = left[0] + left[0] % 2 if left else 0  # of the round: 1 and 2, 3 and 4
    chance = Random(f"{order.name}/{number}/tokens")
    tokens = chance.randrange(100, 1000), chance.randrange(10, 100)
    if not left:
        return Said(f"All of {order.name} is paid <{number}>.", (), tokens)
    calls = tuple([_call(order, item, number) for item in left if item <= end])
    return Said(f"Now {order.name} from {left[0]} on <{number}>.", calls, tokens)


def _call(order: Order, item: int, number: int) -> tuple[str, str, dict[str, Any]]:
    return "pay", f"c{number}i{item}", {"order": order.name, "item": item, "amount": order.amount(item)}
