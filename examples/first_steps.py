"""A tool, an agent, an answer, and what happened on the way."""

from treadle import Agent, tool
from treadle.testing import Scripted, calls

SHELF = {"A-113": 40, "B-7": 0}


@tool(effect="read")
def stock(item: str, warehouse: str = "north") -> int:
    """How many of an item are on the shelf.

    :param item: article number
    :param warehouse: which warehouse to look in
    """
    return SHELF[item]


# Instead of Scripted(...): "openai:gpt-5-mini", "anthropic:claude-sonnet-5-5", "ollama:qwen3", ...
model = Scripted(
    calls(("stock", {"item": "A-113"}), ("stock", {"item": "Z-9"}), text="Let me look. "),
    "We have 40 of A-113. There is no Z-9.",
)
agent = Agent(model, tools=[stock], instructions="You help in a warehouse.")
result = agent.run_sync("Have we got 40 of A-113, and any Z-9?")

print(result.output)
for call in result.calls:
    print(f"  {call.name}({call.arguments}) -> {call.result.content if call.result else 'waiting'}")
print(f"  {result.usage.requests} requests, {result.usage.calls} calls, stopped: {result.stopped}")
