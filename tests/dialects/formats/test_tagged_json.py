import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dialects.parsing import TOOLS, cut_anyhow, hear, hear_pieces
from treadle.core.calls import Written
from treadle.dialects import get_dialect
from treadle.dialects.formats.auto import AUTO

HERMES = get_dialect("hermes")
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
        '<tool_call>{"name": "ls", "arguments": {"path": "."}',
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
    start = text[: data.draw(st.integers(len('<tool_call>{"name": "ls"'), len(text) - 2))]
    heard = hear(HERMES, start)
    assert heard.names == ["ls"]
    assert heard.calls[0].cut
    assert heard.text == ""


def test_a_call_that_is_cut_off_before_its_name_is_left_as_text() -> None:
    for text in ('<tool_call>{"na', '<tool_call>{"name": "x', '<tool_call>{"arguments": {"path": "."'):
        heard = hear(HERMES, text)
        assert (heard.text, heard.calls) == (text, ())


def test_a_call_that_is_cut_off_in_its_name_is_marked_so() -> None:
    heard = hear(HERMES, 'So.<tool_call>{"name": "l')
    assert (heard.text, heard.calls) == ("So.", (Written("", "l", "", cut=True),))


def test_a_frame_that_was_only_begun_says_nothing() -> None:
    assert hear(HERMES, "So<tool_call>\n").text == "So"
    assert hear(HERMES, "So: <tool_call>").text == "So: <tool_call>"


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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("granite3_json", '<|tool_call|> [{"name": "ls", "arguments": {"path": "."}}]'),
        ("granite3_json", '<tool_call> [{"arguments": {"path": "."}, "name": "ls"}]'),
        ("granite3_json", '<|tool_call|>{"name": "ls", "arguments": {"path": "."}}<|end_of_text|>'),
        ("hermes_json_granite4", '<tool_call> {"name": "ls", "arguments": "{\\"path\\": \\".\\"}"} </tool_call>'),
        ("granite20b_json", '<function_call> {"name": "ls", "arguments": {"path": "."}}</function_call>'),
        ("internlm2_json", '<|action_start|><|plugin|>{"name": "ls", "parameters": {"path": "."}}<|action_end|>'),
        ("internlm2_json", '<|action_start|> {"name": "ls", "arguments": {"path": "."}}\n<|action_end|><|im_end|>'),
        ("tool_calls_json_array", ' <tool_calls>[\n  {"name": "ls", "arguments": {"path": "."}}\n]</tool_calls>\n</answer>'),
        ("firefunction", ' functools [{"name": "ls", "arguments": {"path": "."}}]'),
        ("cohere_r_plus_action", 'Action: ```json\n[{"tool_name": "ls", "parameters": {"path": "."}}]```'),
        ("cohere_r_plus_action", 'Action:[{"tool_name": "ls", "parameters": {"path": "."}}]'),
        ("apertus_json", '<|tools_prefix|>[{"ls": {"path": "."}}]'),
        ("apertus_json", '<|tools_prefix|>[{"name": "ls", "arguments": {"path": "."}}]<|tools_suffix|>'),
        ("nemotron_v2_toolcall", '<TOOLCALL>[{"name": "ls", "arguments": {"path": "."}}]'),
    ],
)
def test_members_of_the_family_vary(name: str, text: str) -> None:
    heard = hear(get_dialect(name), text)
    assert (heard.made, heard.text.strip()) == ([("ls", {"path": "."})], "")


@pytest.mark.parametrize(
    "text",
    [
        "<|action_start|><|plugin|>so",
        "Action: ```python\nprint()\n```",
        "Action: none",
        "functools is a module",
        "<function_call>so</function_call>",
        "<tool_calls>so</tool_calls>",
        '<tool_calls>[{"name": "ls", "arguments": {}}] and so on',
        "<|tools_prefix|>[3]<|tools_suffix|>",
        "[TOOL_CALLS] [not valid json]",
    ],
)
def test_what_isnt_a_call_in_their_frames_is_text(text: str) -> None:
    heard = hear(replace(AUTO, noise=()), text)
    assert (heard.text, heard.calls) == (text, ())


def test_a_frame_that_nobody_types_says_that_it_is_a_call_even_where_it_makes_no_sense() -> None:
    broken = '[{"name": "ls", "arguments": {"path": "he said "hi""}}] so'
    assert hear(get_dialect("nemotron_v2_toolcall"), f"<TOOLCALL>{broken}").calls == (Written("", "ls", broken),)
    assert hear(get_dialect("nemotron_v2_toolcall"), f"<TOOLCALL>{broken}</TOOLCALL>").calls == (Written("", "ls", broken),)
    assert hear(get_dialect("granite3_json"), f"<|tool_call|>{broken}").calls == (Written("", "ls", broken),)


def test_members_of_the_family_think_in_frames_of_their_own() -> None:
    heard = hear(get_dialect("apertus_json"), '<|inner_prefix|>hm<|inner_suffix|>So.<|tools_prefix|>[{"ls": {}}]<|tools_suffix|>')
    assert (heard.thinking, heard.text, heard.made) == ("hm", "So.", [("ls", {})])
    heard = hear(get_dialect("tool_calls_json_array"), "Here are my reasoning steps:\nhm\n[BEGIN FINAL RESPONSE]\nSo.")
    assert (heard.thinking, heard.text) == ("hm", "So.")
    heard = hear(get_dialect("ernie45_json"), "hm\n</think>\n\n<response>\nSo.\n</response>\n")
    assert (heard.thinking, heard.text.strip()) == ("hm", "So.")
