"""A reply that is held to a shape: calls as they are written, an answer as it comes, anything else like any other reply."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialects.parsing import TOOLS, cut, hear, hear_pieces
from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.dialects.constrained_json import CONSTRAINED, constrained_schema


def test_calls_are_heard():
    heard = hear(CONSTRAINED, '{"calls": [{"name": "ls", "arguments": {"path": "."}}, {"name": "grep", "arguments": {}}]}')
    assert heard.made == [("ls", {"path": "."}), ("grep", {})]
    assert heard.text == ""


def test_a_call_is_heard_when_it_is_written_and_not_later():
    parser = CONSTRAINED.parser(TOOLS)
    assert not parser.feed('{"calls": [{"name": "ls", "arguments": {"path": "."}').calls
    assert [call.name for call in parser.feed("}, ").calls] == ["ls"]


def test_an_answer_is_heard_as_it_comes():
    parser = CONSTRAINED.parser(TOOLS)
    parser.feed('{"answer": "Hello there, ')
    assert parser.feed("friend").text == "friend"
    assert parser.close().text == ""


@pytest.mark.parametrize("text", ["", "plain", 'a "quote" and \\ a slash', "tab\tline\n", "snow \u2603", "face \U0001f600!"])
def test_an_answer_comes_without_its_escapes(text):
    for spelled in (msgspec.json.encode({"answer": text}).decode(), json.dumps({"answer": text})):
        assert hear(CONSTRAINED, spelled).text == text


def test_an_answer_may_end_in_the_middle_of_an_escape():
    assert hear(CONSTRAINED, '{"answer": "caf\\u00').text == "caf"
    assert hear(CONSTRAINED, '{"answer": "half \\ud83d').text == "half \ufffd"


def test_space_does_not_matter():
    assert hear(CONSTRAINED, ' {\n "calls" : [ {"name": "ls", "arguments": {}} ] }').made == [("ls", {})]


def test_a_reply_that_is_not_held_after_all_is_read_like_any_other():
    heard = hear(CONSTRAINED, 'Sure. <tool_call>{"name": "ls", "arguments": {}}</tool_call>')
    assert (heard.text.strip(), heard.made) == ("Sure.", [("ls", {})])
    assert hear(CONSTRAINED, "<think>Hm.</think>Nothing to do.").thinking == "Hm."
    assert hear(CONSTRAINED, "Short.").text == "Short."


def test_a_call_that_is_cut_off_is_marked_so():
    heard = hear(CONSTRAINED, '{"calls": [{"name": "ls", "arguments": {}}, {"name": "grep", "arguments": {"pattern": "a')
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", False), ("grep", True)]


def test_an_entry_that_is_no_call_is_handed_on_for_a_problem():
    heard = hear(CONSTRAINED, '{"calls": [{"tool": "ls"}]}')
    assert [(call.name, call.text) for call in heard.calls] == [("", '{"tool": "ls"}')]
    assert hear(CONSTRAINED, '{"calls": [{"name": "ls", "arguments": {]]}').names == [""]


def test_the_shape_has_a_branch_for_each_tool_and_one_for_an_answer_where_that_may_be():
    answer, calls = constrained_schema(TOOLS, answers=True)["anyOf"]
    assert answer["required"] == ["answer"]
    names = [branch["properties"]["name"]["const"] for branch in calls["properties"]["calls"]["items"]["anyOf"]]
    assert names == [tool.name for tool in TOOLS]
    assert constrained_schema(TOOLS) == calls


def test_what_a_schema_refers_to_moves_along():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "tags": {"type": "array", "items": [{}]}}}
    tree = ToolSpec("tree", "", {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}})
    shape = constrained_schema([*TOOLS, tree])
    where = f"{len(TOOLS)}_Node"
    assert shape["$defs"][where]["properties"]["next"] == {"$ref": f"#/$defs/{where}"}
    arguments = shape["properties"]["calls"]["items"]["anyOf"][-1]["properties"]["arguments"]
    assert arguments == {"type": "object", "properties": {"root": {"$ref": f"#/$defs/{where}"}}}


def test_a_tool_without_a_schema_takes_nothing():
    (branch,) = constrained_schema([ToolSpec("now", "", {})])["properties"]["calls"]["items"]["anyOf"]
    assert branch["properties"]["arguments"] == {"type": "object", "properties": {}}


def test_tools_are_explained_only_where_there_are_some():
    assert "grep(" in CONSTRAINED.explain(TOOLS)
    assert CONSTRAINED.explain(()) == ""


@given(
    st.dictionaries(st.text(max_size=5), st.one_of(st.text(), st.integers(), st.lists(st.booleans()), st.none())), st.integers(1, 9)
)
def test_what_is_spelled_is_heard(arguments, size):
    spelled = CONSTRAINED.spell([Call("1", "ls", arguments), Call("2", "grep", arguments)])
    assert hear_pieces(CONSTRAINED, cut(spelled, size)).made == [("ls", arguments), ("grep", arguments)]
