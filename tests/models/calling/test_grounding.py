"""How many required values of a call were said at all."""

import msgspec
import pytest

from treadle.core.calls import Written
from treadle.core.requests import ToolSpec
from treadle.models.calling.grounding import ConversationText


def tool(required=("value",), **schema):
    return ToolSpec("t", "", {"properties": {"value": schema or {}}, "required": list(required)})


def share(said, value, **schema):
    return ConversationText(said).grounded_share(Written("", "t", msgspec.json.encode({"value": value}).decode()), tool(**schema))


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("A loan of 20,000 euros", 20000),
        ("at 4.5 percent", 0.045),
        ("for three years", 3),
        ("half of it", 0.5),
        ("2 million people", 2e6),
        ("in 5 minutes", 300),
        ("the weather in New York", "new york"),
        ("translate this", "translation"),
        ("points (3,4) and B", [3, 4]),
        ("call Ann", {"name": "Ann", "times": 7}),
    ],
)
def test_a_value_that_was_said_is_found(said, value):
    assert share(said, value) == 1.0


@pytest.mark.parametrize(("said", "value"), [("a few", 52), ("who won?", "case 17"), ("", [1, 2]), ("nothing", {"a": "B-7"})])
def test_a_value_that_was_never_said_is_not(said, value):
    assert share(said, value) == 0.0


@pytest.mark.parametrize("value", [True, None, "", []])
def test_a_value_that_says_nothing_does_not_count(value):
    assert share("hello", value) == 1.0


def test_a_choice_does_not_count():
    assert share("hello", "celsius", enum=["celsius", "kelvin"]) == 1.0
    assert share("hello", ["x"], items={"enum": ["x"]}) == 1.0


def test_only_required_values_count():
    call = Written("", "t", '{"value": 99, "other": 98}')
    assert ConversationText("hello").grounded_share(call, tool(required=())) == 1.0
    assert ConversationText("hello 98").grounded_share(call, tool(required=("value", "other"))) == 0.5


@pytest.mark.parametrize("text", ["{broken", "[1]"])
def test_a_call_that_cannot_be_read_is_left_to_others(text):
    assert ConversationText("hello").grounded_share(Written("", "t", text), tool()) == 1.0
