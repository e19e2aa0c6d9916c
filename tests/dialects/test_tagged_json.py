import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.hearing import TOOLS, cut_anyhow, hear, hear_pieces
from treadle.core.calls import Written
from treadle.dialects import named

HERMES = named("hermes")
LS = '<tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>'

arguments = st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text() | st.none(), max_size=3), max_size=4)


@pytest.mark.parametrize(
    "text",
    [
        LS,
        '<tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>\n',
        '<tool_call>{"name": "ls", "arguments": "{\\"path\\": \\".\\"}"}</tool_call>',
        '<tool_call>{"tool": "ls", "args": {"path": "."}}</tool_call>',
        '<tool_call>{"parameters": {"path": "."}, "function": "ls"}</tool_call>',
        "<tool_call>{'name': 'ls', 'arguments': {'path': '.',}}</tool_call>",
        '<tool_call>{"type": "function", "function": {"name": "ls", "arguments": {"path": "."}}}</tool_call>',
        '<tool_call>[{"name": "ls", "arguments": {"path": "."}}]</tool_call>',
        '<tool_call>{"name": {"path": "."}, "arguments": "ls"}</tool_call>',
        '<tool_call>{"name": "ls", "path": "."}</tool_call>',
        '<tool_call>{"name": "ls", "arguments": {"path": "."}}',
        '<tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_ca',
        '<tool_call>{"name": "ls", "arguments": {"path": "."}} // so\n</tool_call>',
        f"```xml\n{LS}\n```",
    ],
)
def test_a_call_between_tags_is_heard_and_not_shown(text: str) -> None:
    heard = hear(HERMES, text)
    assert heard.made == [("ls", {"path": "."})]
    assert heard.text == ""


def test_a_call_has_no_id_and_its_arguments_as_json_text() -> None:
    assert hear(HERMES, LS).calls == (Written("", "ls", '{"path":"."}'),)


@settings(deadline=None)
@given(st.lists(arguments, min_size=1, max_size=3), st.integers(0, 1000))
def test_any_arguments_come_through_however_the_text_is_cut(several: list[dict[str, Any]], seed: int) -> None:
    text = "\n".join(f"<tool_call>{json.dumps({'name': 'ls', 'arguments': one})}</tool_call>" for one in several)
    heard = hear_pieces(HERMES, cut_anyhow(text, seed))
    assert heard.made == [("ls", one) for one in several]
    assert heard.text == ""


@settings(deadline=None)
@given(arguments, st.data())
def test_a_call_that_is_cut_off_is_marked_so_once_its_name_is_known(given_arguments: dict[str, Any], data: st.DataObject) -> None:
    text = f"<tool_call>{json.dumps({'name': 'ls', 'arguments': given_arguments})}"
    start = text[: data.draw(st.integers(len('<tool_call>{"name": "ls"'), len(text) - 1))]
    heard = hear(HERMES, start)
    assert heard.names == ["ls"]
    assert heard.calls[0].cut
    assert heard.text == ""


def test_a_call_that_is_cut_off_before_its_name_is_left_as_text() -> None:
    for text in ("<tool_call>", '<tool_call>{"name": "l', '<tool_call>{"arguments": {"path": "."'):
        heard = hear(HERMES, text)
        assert (heard.text, heard.calls) == (text, ())


def test_words_around_calls_stay() -> None:
    heard = hear(HERMES, f"I look.\n{LS}\nNow the other:\n{LS} and done.")
    assert heard.names == ["ls", "ls"]
    assert heard.text == "I look.\n\nNow the other:\n and done."


def test_several_calls_may_follow_one_another_or_stand_in_one_list() -> None:
    assert hear(HERMES, LS + LS).names == ["ls", "ls"]
    assert hear(HERMES, LS.replace("</tool_call>", "") + LS).names == ["ls", "ls"]
    listed = '<tool_call>[{"name": "ls", "arguments": {}}, {"name": "grep", "arguments": {}}]</tool_call>'
    assert hear(HERMES, listed).names == ["ls", "grep"]


def test_a_call_comes_out_as_soon_as_it_is_written() -> None:
    parser = HERMES.parser(TOOLS)
    assert parser.feed(LS[:-1]).calls == ()
    assert [call.name for call in parser.feed(">").calls] == ["ls"]


def test_a_call_without_arguments_has_none() -> None:
    assert hear(HERMES, '<tool_call>{"name": "ls"}</tool_call>').made == [("ls", {})]
    assert hear(HERMES, '<tool_call>{"name": "ls", "arguments": null}</tool_call>').made == [("ls", {})]


def test_an_empty_frame_is_passed_over() -> None:
    heard = hear(HERMES, "So.\n<tool_call>\n</tool_call>\nOn.")
    assert (heard.text, heard.calls) == ("So.\n\nOn.", ())


def test_a_tag_inside_a_string_is_part_of_it() -> None:
    for inner in ("</tool_call>", f"see {LS} there", "<think>", "\n```\n"):
        text = f"<tool_call>{json.dumps({'name': 'write_file', 'arguments': {'content': inner}})}</tool_call>"
        assert hear(HERMES, text).made == [("write_file", {"content": inner})]


@pytest.mark.parametrize(
    "inside",
    [
        '{"name": "ls", "arguments": {"path": "he said "hi""}}',
        '{"name": "ls", "arguments": {"path": "."}}}',
        '{"name": "ls" "arguments": {"path": "."}}',
    ],
)
def test_a_call_that_makes_no_sense_is_passed_on_so_that_the_model_can_be_told(inside: str) -> None:
    heard = hear(HERMES, f"<tool_call>{inside}</tool_call>\n{LS}")
    assert heard.calls == (Written("", "ls", inside), Written("", "ls", '{"path":"."}'))


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "rm", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "rm", "arguments": {"name": "ls"}}</tool_call>',
        '<tool_call>{"arguments": {"name": "ls", "arguments": {}}}</tool_call>',
        '<tool_call>{"arguments": {"name": "ls", "arguments": {}}, "name": "rm"}</tool_call>',
        '<tool_call>{"name": 3, "arguments": {}}</tool_call>',
        '<tool_call>{"name": "ls", "description": "Lists.", "parameters": {}}</tool_call>',
        '<tool_call>{"name": "rm", "arguments": {} so}</tool_call>',
        "<tool_call>not json</tool_call>",
        "```xml\n<tool_call>not json</tool_call>\n```",
        "```xml\n<tool_call>\n```",
        "<tool_call>[]</tool_call>",
        '<tool_call>[{"name": "ls", "arguments": {}}, 3]</tool_call>',
        '<tool_call>{"name": "ls", "arguments": {}} and then some words',
        '<tool_call>{"name": "rm", "arguments": {"pa',
    ],
)
def test_what_isnt_a_call_of_a_tool_on_offer_stays_text(text: str) -> None:
    heard = hear(HERMES, text)
    assert (heard.text, heard.calls) == (text, ())


def test_a_frame_that_isnt_closed_before_words_is_text_and_the_next_one_counts() -> None:
    unclosed = '<tool_call>{"name": "ls", "arguments": {}} or so\n'
    heard = hear(HERMES, unclosed + LS)
    assert heard.text == unclosed
    assert heard.made == [("ls", {"path": "."})]
