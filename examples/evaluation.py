"""Evaluating an agent: cases with expected calls and answers, repeated, with confidence intervals. For pytest."""

from treadle import Agent, Model, tool
from treadle.evals import Case, CaseRun, Dataset, Expectations, ExpectedCall, evaluate_sync
from treadle.testing import Scripted, calls

STOCK = {"A-113": 40, "B-7": 0}


@tool(effect="read")
def stock(item: str) -> int:
    """Return how many there are of an item."""
    return STOCK[item]


@tool(effect="write")
def order(item: str, count: int) -> str:
    """Order more of an item."""
    return f"ordered {count} of {item}"


def purchaser(model: str | Model) -> Agent:
    """Return the agent of the program; an evaluation passes a real model: `purchaser("openai:gpt-5-mini")`."""
    return Agent(model, tools=[stock, order])


def orders_little(run: CaseRun) -> str | None:
    """Return why a run is wrong; None where it isn't."""
    counts = [call.arguments["count"] for call in run.calls if call.name == "order"]
    return None if sum(counts) <= 10 else f"{sum(counts)} were ordered"


CASES = Dataset(
    "purchases",
    (
        Case(
            name="orders what is missing",
            input="Order ten of B-7 if there are none.",
            approve=("order",),
            expected=Expectations(calls=("stock", ExpectedCall("order", {"item": "B-7"})), in_order=True, output="10"),
            checks=(orders_little,),
        ),
    ),
)


def test_what_is_missing_is_ordered() -> None:
    replies = (calls(("stock", {"item": "B-7"})), calls(("order", {"item": "B-7", "count": 10})), "I ordered 10 of B-7.")
    report = evaluate_sync(CASES, lambda: purchaser(Scripted(*replies)), repeat=3)
    assert report.passed, report.failures()
    assert [call.tool for call in report.attempts[0].asked] == ["order"]


if __name__ == "__main__":
    test_what_is_missing_is_ordered()
    print("1 passed")
