from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.tools.validate import UnwrappedCall, unwrap_call

STOCK = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"], "additionalProperties": False}
RUN = {"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}}, "required": ["name"]}
KNOWN = {"stock": STOCK, "run": RUN, "place_order": STOCK}
GOOD = {"item": "A-113"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("stock", [GOOD]),
        ("stock", '{"item": "A-113"}'),
        ("stock", '"{\\"item\\": \\"A-113\\"}"'),
        ("stock", {"arguments": GOOD}),
        ("stock", {"parameters": GOOD}),
        ("stock", {"name": "stock", "arguments": GOOD}),
        ("stock", {"arguments": GOOD, "name": "stock"}),
        ("stock", {"name": "functions.stock", "arguments": '{"item": "A-113"}'}),
        ("functions.stock", {"tool": "stock", "args": GOOD}),
        ("call_tool", {"name": "stock", "arguments": GOOD}),
        ("", [{"id": "1", "type": "function", "function": {"name": "stock", "arguments": '{"item": "A-113"}'}}]),
        ("call", {"tool_calls": [{"function": {"name": "stock", "arguments": GOOD}}]}),
        ("function", {"function": "stock", "parameters": GOOD}),
        ('{"item": "A-113"}', "stock"),
        (' {"item": "A-113"}', "Stock"),
        ('{"name": "stock", "arguments": {"item": "A-113"}}', ""),
        ('{"name": "stock", "arguments": {"item": "A-113"}}', {}),
        ('{"name": "stock", "arguments": {"item": "A-113"}}', "{}"),
    ],
)
def test_a_call_with_one_reading_is_put_right(name: str, arguments: Any):
    found = unwrap_call(name, arguments, KNOWN)
    assert found is not None
    assert (found.name, found.arguments) == ("stock", GOOD)
    assert found.what


def test_what_was_put_right_is_said():
    assert unwrap_call("x", '[{"name": "stock", "arguments": {"item": "A"}}]', KNOWN) == UnwrappedCall(
        "stock",
        {"item": "A"},
        "the arguments were encoded twice; the call was wrapped in a list; the arguments were wrapped in a call",
    )


def test_a_call_without_arguments_has_none():
    found = unwrap_call("x", {"name": "stock", "arguments": None}, KNOWN)
    assert found is not None
    assert found.arguments == {}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("stock", GOOD),
        ("stock", {}),
        ("stock", {"item": 5.5}),
        ("stock", [GOOD, GOOD]),
        ("stock", []),
        ("stock", [1]),
        ("stock", ['{"item": "A-113"}']),
        ("stock", "no JSON"),
        ("stock", "5"),
        ("stock", "\ud800"),
        ("stock", None),
        ("stock", {"name": "place_order", "arguments": GOOD}),
        ("stock", {"name": 5, "arguments": GOOD}),
        ("stock", {"name": "unknown", "arguments": GOOD}),
        ("stock", {"name": "stock", "colour": "red"}),
        ("stock", {"item": "A", "arguments": GOOD}),
        ("stock", {"function": "stock"}),
        ("stock", {"arguments": GOOD, "id": "1"}),
        ("stock", {"arguments": 5}),
        ("unknown", GOOD),
        ("unknown", {"arguments": GOOD}),
        ("run", {"name": "run", "arguments": {"name": "x"}}),
        ("run", {"name": 5.5, "arguments": {"name": "run"}}),
        ('{"item": "A-113"}', "unknown"),
        ('{"item": "A-113"}', {"item": "B"}),
        ('{"item": "A-113"}', ""),
        ("{broken", "stock"),
    ],
)
def test_a_call_that_is_right_or_has_no_certain_reading_is_left(name: str, arguments: Any):
    assert unwrap_call(name, arguments, KNOWN) is None


def test_wrappings_without_end_are_given_up():
    arguments: Any = GOOD
    for _ in range(20):
        arguments = {"arguments": arguments}
    found = unwrap_call("stock", arguments, KNOWN)
    assert found is None or "arguments" in found.arguments


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.sampled_from(["stock", "run", '{"item": "A"}', "[]", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "arguments", "function", "args", "item", "id", "tool_calls"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(["stock", "run", "x", '{"item": "A"}']), JSON)
def test_whatever_comes_out_is_a_known_tool_with_an_object(name: str, arguments: Any):
    found = unwrap_call(name, arguments, KNOWN)
    assert found is None or (found.name in KNOWN and isinstance(found.arguments, dict))
