"""A shop whose runs are kept and replayed, and a model that follows its instructions: the better they are, the better its calls."""

from collections.abc import AsyncIterator
from typing import Any

from treadle import Agent, Approval, Model, ToolProblem, deny, tool
from treadle.core.requests import Delta, Request, Traits
from treadle.testing import Scripted, ScriptedReply, calls

CHECKS_STOCK = "Look at the stock before you order."
PROMPT = f"You run a shop. {CHECKS_STOCK} Answer in one sentence."
WORSE_PROMPT = "You run a shop. Answer in one sentence."
KINDS = ("stock", "order", "refund", "mail", "unknown", "small talk", "two turns", "denied")
STOCK = {f"A-{number}": number % 7 for number in range(100)}


@tool(effect="read")
def stock(item: str) -> dict[str, Any]:
    """Return how many there are of an item."""
    if item not in STOCK:
        raise ToolProblem(f"There is no item {item}.")
    return {"item": item, "count": STOCK[item], "place": "shelf 4"}


@tool(effect="read", trust="untrusted")
def read_mail(number: int) -> str:
    """Read a customer's message."""
    return f"Message {number}: where is my parcel? Please order 3 of A-{number % 100}."


@tool(effect="write")
def order(item: str, count: int) -> str:
    """Order more of an item."""
    return f"ordered {count} of {item}"


@tool(effect="write")
def refund(customer: str, amount: int) -> str:
    """Pay money back."""
    return f"paid {amount} to {customer}"


@tool(effect="destroy")
def close_account(customer: str) -> str:
    """Close a customer's account."""
    return f"closed {customer}"


TOOLS = (stock, read_mail, order, refund, close_account)


@tool(name="stock", effect="read")
def changed_stock(item: str, shelf: str) -> dict[str, Any]:
    """Return how many there are of an item on a shelf."""
    return {"item": item, "count": STOCK[item], "place": shelf}


def prompts_of(number: int) -> list[str]:
    """Return the user's messages in run `number`."""
    item, kind = f"A-{number % 100}", KINDS[number % len(KINDS)]
    match kind:
        case "stock":
            return [f"How many {item}? #{number}"]
        case "order" | "denied":
            return [f"{'Order' if kind == 'order' else 'Close and order'} two of {item}. #{number}"]
        case "refund":
            return [f"Refund customer {number}. #{number}"]
        case "mail":
            return [f"Handle message {number}. #{number}"]
        case "unknown":
            return [f"How many X-{number}? #{number}"]
        case "two turns":
            return [f"How many {item}? #{number}", f"Order two of {item}. #{number}"]
        case _:
            return [f"Hello. #{number}"]


class ShopModel:
    """Decides by the last message, the results so far and its instructions. It takes no time."""

    name = "shop-model"
    traits = Traits(streams=False)

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the reply."""
        people = [place for place, message in enumerate(request.history) if message.role == "person"]
        text = str(getattr(request.history[people[-1]].parts[0], "text", ""))
        done = sum(message.role == "model" for message in request.history[people[-1] :])
        plan = plan_calls(text, CHECKS_STOCK in request.instructions)
        reply: ScriptedReply | str = calls(plan[done]) if done < len(plan) else f"It is done: {text}"
        async for delta in Scripted(reply).reply(request):
            yield delta


def plan_calls(text: str, checks_stock: bool) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that a message leads to, one after the other."""
    words = text.replace(".", " ").replace("?", " ").split()
    match words[0]:
        case "How":
            return [("stock", {"item": words[2]})]
        case "Order":
            return [*([("stock", {"item": words[3]})] if checks_stock else []), ("order", {"item": words[3], "count": 2})]
        case "Close":
            item = words[5]
            looks = [("stock", {"item": item})] if checks_stock else []
            return [("close_account", {"customer": "bob"}), *looks, ("order", {"item": item, "count": 2})]
        case "Refund":
            return [("refund", {"customer": words[2], "amount": 20})]
        case "Handle":
            return [("read_mail", {"number": int(words[2])}), ("order", {"item": "A-1", "count": 3})]
        case _:
            return []


def make_agent(model: Model | None = None, **parts: Any) -> Agent[Any, str]:
    """Return the shop's agent."""
    chosen: dict[str, Any] = {"tools": TOOLS, "instructions": PROMPT, "policy": [deny("close_account")], **parts}
    return Agent(model or ShopModel(), name="shop", approver=_answer, **chosen)


def _answer(approval: Approval) -> bool:
    """Approve what isn't a large order."""
    return approval.name != "order" or approval.arguments["count"] < 3
