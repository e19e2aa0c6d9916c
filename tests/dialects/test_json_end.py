import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.dialects.scanner import Tape, run_reader, take_value

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)
containers = st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4)


def extent(text: str) -> tuple[str, str]:
    tape = Tape(text, ended=True)
    tape.begin_hold()
    ending = run_reader(take_value(tape, tape.take(1)))
    return tape.release(), ending


@settings(deadline=None)
@given(containers, st.text())
def test_a_value_ends_where_json_says_and_what_follows_stays(value: Any, after: str) -> None:
    for spelled in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False), repr(value)):
        assert extent(spelled + after) == (spelled, "whole")


def test_marks_that_end_a_value_count_outside_of_strings_only() -> None:
    tape = Tape('{"a": "|>", b|> c', ended=True)
    tape.begin_hold()
    assert run_reader(take_value(tape, tape.take(1), ("|>",))) == "broken"
    assert tape.release() == '{"a": "|>", b'


@settings(deadline=None)
@given(containers, st.data())
def test_a_value_that_isnt_all_there_is_cut(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    start = text[: data.draw(st.integers(1, len(text) - 1))]
    assert extent(start) == (start, "cut")


@pytest.mark.parametrize(
    "text",
    [
        "{'a': \"}\", \"b\": '}'}",
        "{\u201ca\u201d: \u2018}\u2019}",
        '{"a": 1 // }\n}',
        '{"a": 1, # ]\n "b": /* } */ 2}',
        '{"a": "b"\n"c": "d"}',
        '{"a": "\\"}", "b": "\\\\"}',
        '[{"a": [[]]}, {}]',
    ],
)
def test_brackets_in_strings_and_comments_dont_count(text: str) -> None:
    assert extent(text + " more") == (text, "whole")


@pytest.mark.parametrize(("text", "taken"), [('{"a": [1}]', '{"a": [1}'), ('{"a": "he said "hi""}', '{"a": "he said "')])
def test_a_value_that_makes_no_sense_is_broken_where_it_stops_making_any(text: str, taken: str) -> None:
    assert extent(text) == (taken, "broken")


@pytest.mark.parametrize("text", ['{"a": "b\\', '{"a": 1 // so', "{'a'", '{"a": /* so'])
def test_a_value_may_be_cut_in_a_string_or_a_comment(text: str) -> None:
    assert extent(text) == (text, "cut")
