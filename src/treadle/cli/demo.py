"""A demo that needs no model and no key: a small shop, its tools, and a scripted model that follows simple rules.

Everything else is real: the engine, the policy, approvals, the journal. The shop's items are in `shop.json`.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from math import nan
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.calls import Call, Result
from treadle.core.errors import ToolProblem
from treadle.core.messages import History, text_of
from treadle.core.requests import Delta, Request, TextDelta, Usage
from treadle.guard.policy import deny
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply
from treadle.tools.tool import tool

MAX_REPLIES = 10_000


class ShopItem(Struct):
    """An item of the shop."""

    plural: str
    stock: int
    price: float


class DemoShop(Struct):
    """The contents of `shop.json`, and the orders since."""

    items: dict[str, ShopItem]
    suggestions: list[str]

    def item(self, name: str) -> ShopItem:
        """Return one item; raises `ToolProblem` if there is none."""
        found = self.items.get(name) or next((item for item in self.items.values() if item.plural == name), None)
        if found is None:
            raise ToolProblem(f"There is no {name}; there are {', '.join(self.items)}.")
        return found


def load_shop() -> DemoShop:
    """Load the shop in its initial state."""
    return msgspec.json.decode(Path(__file__).with_name("shop.json").read_bytes(), type=DemoShop)


def demo_agent_parts() -> dict[str, Any]:
    """Return the parts of the demo's agent."""
    shop = load_shop()
    reply = _ScriptedReplies(shop, pause=0.02 if sys.stdout.isatty() else 0.0)
    return {
        "model": Scripted(*[reply] * MAX_REPLIES, name="scripted:demo", chunk=12),
        "tools": shop_tools(shop),
        "policy": [deny("order", where={"count": "> 100"}, reason="The shop never orders more than 100 at a time.")],
    }


def shop_tools(shop: DemoShop) -> list[Any]:
    """Return the shop's tools."""

    @tool(effect="read")
    async def stock(item: str) -> int:
        """How many of an article are on the shelf."""
        await asyncio.sleep(0.05)  # so that it can be seen
        return shop.item(item).stock

    @tool(effect="read")
    async def price(item: str) -> float:
        """What an article costs, in dollars."""
        await asyncio.sleep(0.05)
        return shop.item(item).price

    @tool(effect="write")
    async def order(item: str, count: int) -> str:
        """Order more of an article."""
        found = shop.item(item)
        found.stock += count
        return f"{count} {found.plural} ordered for ${count * found.price:.2f}; there will be {found.stock}."

    return [stock, price, order]


# the model


class _ScriptedReplies:
    """Model that replies by the last user message and by the tool results since."""

    def __init__(self, shop: DemoShop, pause: float) -> None:
        self._shop = shop
        self._pause = pause

    def __call__(self, request: Request) -> ScriptedReply | AsyncIterator[Delta]:
        said, asked, results = _last_turn(request.history)
        answer = self._reply_to_results(asked, results) if results else self._first_reply(said.lower())
        answer = msgspec.structs.replace(answer, usage=_estimate_usage(request, answer))
        return _stream_slowly(answer, self._pause) if self._pause else answer

    def _first_reply(self, said: str) -> ScriptedReply:
        items = [name for name, item in self._shop.items.items() if re.search(rf"\b({name}|{item.plural})\b", said)]
        if re.search(r"\b(order|buy|restock|get)\b", said):
            return self._order_items(items, said)
        if items or re.search(r"\b(stock|shelf|price|cost|how many)\b", said):
            looked_up = [
                ScriptedCall(name, {"item": item}) for item in items or list(self._shop.items) for name in ("stock", "price")
            ]
            return ScriptedReply("I'll look at the shelf and at the price list.", tuple(looked_up))
        tries = "\n".join([f"  {line}" for line in self._shop.suggestions])
        return ScriptedReply(f"I am a scripted model and know only this shop. Try one of these:\n{tries}")

    def _order_items(self, items: list[str], said: str) -> ScriptedReply:
        item = items[0] if items else "kettle"
        count = next(iter(re.findall(r"\d+", said)), "5")[:6]
        # Almost JSON, as some models write it: single quotes and a comma too many.
        arguments = f"{{'item': '{item}', 'count': {int(count)},}}"
        return ScriptedReply("I'll place the order; that needs a person's approval.", (ScriptedCall("order", arguments),))

    def _reply_to_results(self, asked: dict[str, Call], results: list[Result]) -> ScriptedReply:
        ordered = [result for result in results if result.name == "order"]
        if ordered:
            return ScriptedReply(_describe_order(ordered[-1]))
        found: dict[str, dict[str, Any]] = {}
        for result in results:
            found.setdefault(str(asked[result.call_id].arguments.get("item", "")), {})[result.name] = result.data
        return ScriptedReply(" ".join([self._describe_item(item, values) for item, values in found.items()]))

    def _describe_item(self, name: str, values: dict[str, Any]) -> str:
        item = self._shop.items.get(name)
        words = name if item is None else item.plural
        stock, price = values.get("stock"), values.get("price")
        return f"We have {'?' if stock is None else stock} {words} at ${nan if price is None else price:.2f} each."


def _describe_order(result: Result) -> str:
    if result.problem is None:
        return f"Done: {result.content}"
    return f"I didn't order anything. {result.content}"


def _last_turn(history: History) -> tuple[str, dict[str, Call], list[Result]]:
    """Return the last user message, and the calls and results since."""
    said, asked, results = "", dict[str, Call](), list[Result]()
    for message in history:
        if message.role == "person":
            said, asked, results = text_of(message.parts), {}, []
        asked.update({part.id: part for part in message.parts if isinstance(part, Call)})
        results.extend([part for part in message.parts if isinstance(part, Result)])
    return said, asked, results


def _estimate_usage(request: Request, answer: ScriptedReply) -> Usage:
    """Estimate usage as a real model would report it: four characters per token."""
    wrote = len(answer.text) + sum(len(str(call.arguments)) for call in answer.calls)
    return Usage(requests=1, input_tokens=request.history.size // 4 + 60, output_tokens=wrote // 4 + 1)


async def _stream_slowly(answer: ScriptedReply, pause: float) -> AsyncIterator[Delta]:
    """Yield the answer word by word, so that a person sees it stream."""
    for word in re.findall(r"\s*\S+", answer.text):
        yield TextDelta(word)
        await asyncio.sleep(pause)
    async for delta in Scripted(msgspec.structs.replace(answer, text="")).reply(Request("", History())):
        yield delta
