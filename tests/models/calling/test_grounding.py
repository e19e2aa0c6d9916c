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


def kept(said: str, required: tuple[str, ...] = (), **arguments: object) -> dict[str, object]:
    schema = {"properties": {key: {"enum": ["a", "b"]} if key == "choice" else {} for key in arguments}, "required": list(required)}
    call = Written("", "t", msgspec.json.encode(arguments).decode())
    return msgspec.json.decode(ConversationText(said).drop_invented(call, ToolSpec("t", "", schema)).text)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("how often does the fern need water", "living room"),
        ("what's on on 20 March?", "2026-03-12"),
        ("what did I spend in March", "2026-02"),
        ("who is on duty", "2026-03-12T08:00:00Z"),
    ],
)
def test_an_optional_value_that_came_from_nowhere_is_dropped(said: str, value: str) -> None:
    assert kept(said, limit=5, where=value) == {"limit": 5}


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("which plants are in the kitchen", "kitchen"),
        ("what's on on 20 March?", "2026-03-20"),
        ("what did I spend in march", "2026-03"),
        ("from 2026-03 on", "2026-03"),
        ("what's on tomorrow?", "2026-03-12"),
        ("what did I spend last month", "2026-02"),
        ("hello", ""),
    ],
)
def test_an_optional_value_that_follows_from_the_conversation_stays(said: str, value: str) -> None:
    assert kept(said, where=value) == {"where": value}


def test_choices_numbers_and_required_values_stay() -> None:
    given = {"choice": "a", "limit": 7, "deep": True, "name": "Marit", "inner": {"a": "Bergen"}}
    assert kept("hello", ("name",), **given) == given


def test_a_call_without_invented_values_stays_as_it_was_written() -> None:
    call = Written("", "t", '{ "value": "fern" }')
    assert ConversationText("the fern").drop_invented(call, tool(required=())) is call
