"""What a person sees who decides about a call: nothing hides, nothing passes for something else, and honest text stays as it is."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.guard.visible_text import escape_hidden, make_visible

CASES = json.loads((Path(__file__).parents[1] / "security" / "visible.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_table_holds(case):
    assert make_visible(case["text"]) == case["visible"]


def test_half_of_a_pair_is_written_out():
    assert make_visible("a\ud800b") == "a\\ud800b"


@given(st.text())
def test_what_is_escaped_in_json_reads_back_the_same(text):
    assert msgspec.json.decode(escape_hidden(msgspec.json.encode(text).decode()), type=str) == text


@given(st.text())
def test_what_was_made_visible_is_visible(text):
    assert make_visible(make_visible(text)) == make_visible(text)
