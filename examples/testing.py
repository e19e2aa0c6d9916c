"""Testing a program that uses Treadle: with a scripted model, through its public interface, without patching. For pytest."""

from treadle import Agent, Model, ToolProblem, allow, tool
from treadle.testing import Scripted, calls

orders: list[int] = []


@tool
def order(item: str, count: int) -> str:
    """Order more of an item."""
    if count > 100:
        raise ToolProblem("At most 100 can be ordered.")
    orders.append(count)
    return f"ordered {count}"


def purchaser(model: str | Model) -> Agent:
    """Return the agent of the program, which passes a real model: `purchaser("openai:gpt-5-mini")`."""
    return Agent(model, tools=[order], policy=[allow("order")])


def test_at_most_100_are_ordered() -> None:
    model = Scripted(calls(("order", {"item": "B-7", "count": 500})), calls(("order", {"item": "B-7", "count": 100})), "100.")
    result = purchaser(model).run_sync("Order 500 of B-7.")
    results = [call.result.content for call in result.calls if call.result]
    assert results == ["At most 100 can be ordered.", "ordered 100"]
    assert (orders, result.output) == ([100], "100.")


if __name__ == "__main__":
    test_at_most_100_are_ordered()
    print("1 passed")
