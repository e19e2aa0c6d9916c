"""What is certain of JSON that is still being written."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.dialects.json_repair import MAX_DEPTH
from treadle.dialects.partial_json import CutString, find_cut_string, read_partial

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("{", {}),
        ('{"title', {}),
        ('{"title": ', {}),
        ('{"title": "He', {"title": "He"}),
        ('{"title": "He said \\', {"title": "He said "}),
        ('{"title": "He said \\u00', {"title": "He said "}),
        ('{"title": "back\\\\', {"title": "back\\"}),
        ('{"title": "a {[,:]} b', {"title": "a {[,:]} b"}),
        ('{"title": "a", "n": 12', {"title": "a"}),
        ('{"title": "a", "n": 12,', {"title": "a", "n": 12}),
        ('{"tags": ["a", "b', {"tags": ["a", "b"]}),
        ('{"tags": [{"x": 1}, {"y"', {"tags": [{"x": 1}, {}]}),
        ('{"a": true}', {"a": True}),
        ('{"a": true}\n', {"a": True}),
        ("hello", None),
        ("}", None),
        ('{"half of a pair": "\\ud83d', None),
    ],
)
def test_what_is_certain_so_far(text: str, value: Any) -> None:
    assert read_partial(text) == value


def test_what_is_nested_too_deeply_is_left_out() -> None:
    found, levels = read_partial("[" * (MAX_DEPTH + 50)), 0
    while found:
        found, levels = found[0], levels + 1
    assert levels == MAX_DEPTH - 1


@given(_VALUES.filter(lambda value: isinstance(value, dict | list)))
def test_a_whole_value_is_read_as_it_is_and_every_beginning_of_it_is_a_beginning_of_the_value(value: Any) -> None:
    text = json.dumps(value)
    assert read_partial(text) == value
    for end in range(len(text)):
        found = read_partial(text[:end])
        assert found is None or _is_beginning(found, value)


def _is_beginning(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return all(name in whole and _is_beginning(value, whole[name]) for name, value in cast("dict[str, Any]", part).items())
    if isinstance(part, list):
        items = cast("list[Any]", part)
        return len(items) <= len(whole) and all(map(_is_beginning, items, whole))
    return whole.startswith(part) if isinstance(part, str) else part == whole


@pytest.mark.parametrize(
    ("text", "before", "value", "after"),
    [
        ('{"a": 1, "b": "some tex', '{"a": 1, "b": ', "some tex", "}"),
        ('{"a": ["x", "y\\n', '{"a": ["x", ', "y\n", "]}"),
        ('{"a": "half an escape \\u00', '{"a": ', "half an escape ", "}"),
    ],
)
def test_a_text_that_was_cut_in_a_string_says_where(text, before, value, after):
    cut = find_cut_string(text)
    assert cut == CutString(before, value, after)
    assert read_partial(cut.complete(" and more")) == read_partial(cut.begun(" and more"))
    assert value + " and more" in str(read_partial(cut.complete(" and more"))) or "\n" in value


@pytest.mark.parametrize("text", ["", "{", '{"a', '{"a": 1', '{"a": 1}', "nothing", '["x" "y'])
def test_a_text_that_was_cut_elsewhere_has_no_string_to_continue(text):
    assert find_cut_string(text) is None
