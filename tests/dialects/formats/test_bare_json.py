import json

import pytest

from dialects.parsing import TOOLS, hear
from treadle.dialects import get_dialect

JSON = get_dialect("json")
LS = '{"name": "ls", "arguments": {"path": "."}}'


@pytest.mark.parametrize(
    "text",
    [
        LS,
        f"\n  {LS}\n",
        f"[{LS}]",
        f"[\n  {LS},\n]",
        f"```json\n{LS}\n```",
        f"```\n{LS}\n```\n",
        f"```json\n{LS}```",
        f"```json\n{LS}",
        '{"tool": "ls", "args": {"path": "."}}',
        '{"tool_calls": [{"tool": "ls", "args": {"path": "."}}]}',
        '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "ls", "arguments": "{\\"path\\": \\".\\"}"}}]}',
        '{"function": {"name": "ls", "arguments": {"path": "."}}}',
        '{"id": "1", "type": "function", "function": {"name": "ls", "arguments": {"path": "."}}}',
        '{"role": "assistant", "content": null, "tool_calls": [{"name": "ls", "arguments": {"path": "."}}]}',
        "{'name': 'ls', 'arguments': {'path': '.'}}",
        '{name: "ls", arguments: {path: "."}}',
        '{"name": "ls", "path": "."}',
        f"{LS};",
    ],
)
def test_a_reply_that_is_a_call_is_heard_and_not_shown(text: str) -> None:
    heard = hear(JSON, text)
    assert heard.made == [("ls", {"path": "."})]
    assert heard.text == ""


def test_several_calls_may_follow_one_another() -> None:
    for between in ("\n", "; ", ",\n", "\n\n"):
        heard = hear(JSON, LS + between + LS)
        assert (heard.names, heard.text) == (["ls", "ls"], "")
    assert hear(JSON, f"```json\n{LS}\n{LS}\n```\n\n```json\n{LS}\n```").names == ["ls"] * 3


def test_thoughts_are_thinking_and_a_message_is_text() -> None:
    heard = hear(JSON, '{"thoughts": "need it", "message": "I look.", "tool_calls": [{"tool": "ls", "args": {}}]}')
    assert (heard.thinking, heard.text, heard.made) == ("need it", "I look.", [("ls", {})])
    heard = hear(JSON, '{"thoughts": "nothing to do", "tool_calls": []}')
    assert (heard.thinking, heard.text, heard.calls) == ("nothing to do", "", ())


def test_a_call_without_arguments_counts_only_where_something_marks_it() -> None:
    assert hear(JSON, '{"name": "ls"}').text == '{"name": "ls"}'
    assert hear(JSON, '{"tool_calls": [{"tool": "ls"}]}').made == [("ls", {})]


def test_words_before_a_call_that_ends_the_reply_are_shown() -> None:
    for call in (LS, f"```json\n{LS}\n```"):
        heard = hear(JSON, f"I look.\n{call}\n")
        assert (heard.text, heard.made) == ("I look.\n", [("ls", {"path": "."})])


def test_finished_calls_of_a_list_that_is_cut_off_count() -> None:
    whole = '{"thoughts": "t", "tool_calls": [{"tool": "ls", "args": {"path": "."}}'
    heard = hear(JSON, whole)
    assert (heard.thinking, heard.made, heard.text) == ("t", [("ls", {"path": "."})], "")
    heard = hear(JSON, whole + ', {"tool": "read_file", "args": {"path": "src/ma')
    assert heard.made == [("ls", {"path": "."})]
    assert [call.cut for call in heard.calls] == [False, True]
    assert heard.calls[1].text == '{"path": "src/ma'
    assert hear(JSON, f"[{LS}, {LS[:20]}").names == ["ls", "ls"]
    assert hear(JSON, f"[{LS},").names == ["ls"]
    assert hear(JSON, f"```json\n[{LS}").names == ["ls"]


def test_a_call_inside_the_arguments_of_one_that_is_cut_off_doesnt_count() -> None:
    heard = hear(JSON, '{"name": "write_file", "arguments": {"tool_calls": [{"name": "ls", "arguments": {}}, {"na')
    assert [(call.name, call.cut) for call in heard.calls] == [("write_file", True)]


def test_a_list_with_one_tool_on_offer_counts_and_the_others_are_answered_too() -> None:
    assert hear(JSON, f'[{LS}, {{"name": "rm", "arguments": {{}}}}]').names == ["ls", "rm"]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "rm", "arguments": {}}',
        '{"name": "jeff"}' + LS,
        '[{"name": "rm", "arguments": {}}]',
        '[{"name": "rm", "arguments": {}}',
        '{"parameters": {}}',
        '{"name": "ls", "colour": "red"}',
        '{"name": "", "arguments": {}}',
        '{"name": ["ls"]}',
        '{"answer": 42}',
        '{"colour": "red"}',
        '{"thoughts": "hm", "calls": 3}',
        '{"tool_calls": []}',
        '{"tool_calls": [3]}',
        '{"thoughts": "hm", "tool_calls": [{"tool": "rm", "args": {}}, {"to',
        '{"thoughts": "hm", "tool_calls": [3, {"to',
        '{"name": "ls", "arguments": {"path": "he said "hi""}}',
        "[special delivery]",
        '["name", "ls"]',
        "[]",
        "{",
        "{}",
        "```json\n" + '{"name": "rm", "arguments": {}}' + "\n```",
        f"```json\n{LS}\nand so on\n```",
        "```json\n\n```",
        "```json",
        "```\n```",
        "```json\n" + '{"name": "ls", "arguments": {"path": "\n```\nand then words',
    ],
)
def test_other_json_stays_text(text: str) -> None:
    heard = hear(JSON, text)
    assert [call for call in heard.calls if not call.cut] == []
    assert heard.text == text or heard.calls


@pytest.mark.parametrize(
    "text",
    [
        f"{LS}\nThat would list the files.",
        f"You could write {LS}",
        f"For example:\n```json\n{LS}\n```\nThat would list the files.",
        f"```json\n{LS}\n```\nor\n```json\n{LS}\n```\neither way.",
        f"`{LS}`",
        f"> {LS}",
        f"So:\n    {LS}",
        f"~~~json\n{LS}\n~~~\nso",
        f"```python\n{LS}\n```",
    ],
)
def test_a_call_that_is_quoted_or_followed_by_words_is_a_sample(text: str) -> None:
    heard = hear(JSON, text)
    assert (heard.text, heard.calls) == (text, ())


def test_json_that_cant_be_a_call_isnt_held_back() -> None:
    parser = JSON.parser(TOOLS)
    sample = json.dumps({"colour": "red", "sizes": list(range(100))})
    assert parser.feed(sample[:200]).text == sample[:200]
    parser = JSON.parser(TOOLS)
    row = json.dumps({"id": 3, "text": "a" * 200})
    assert parser.feed(row[:150]).text == row[:150]
    parser = JSON.parser(TOOLS)
    person = json.dumps({"name": "Jeff", "notes": "a" * 200})
    assert parser.feed(person[:150]).text == person[:150]


def test_half_a_character_in_the_arguments_doesnt_stop_a_call() -> None:
    heard = hear(JSON, '{"name": "ls", "arguments": {"path": "\ud83d"}}')
    assert heard.made == [("ls", {"path": "\ufffd"})]


@pytest.mark.parametrize(
    "text",
    [
        LS,
        f"<|python_tag|>{LS}",
        '{"name": "ls", "parameters": {"path": "."}}<|eom_id|>',
        f"```json\n{LS}\n```",
    ],
)
def test_llama_writes_its_calls_with_or_without_a_token(text: str) -> None:
    heard = hear(get_dialect("llama3_json"), text)
    assert (heard.made, heard.text) == ([("ls", {"path": "."})], "")


def test_llamas_calls_count_in_the_middle_of_words_too() -> None:
    for between in ("; ", ";", " ;\n", "\n", "<|python_tag|>"):
        heard = hear(get_dialect("llama3_json"), f"Here: {LS}{between}{LS} Anything else?")
        assert (heard.made, heard.text.split()) == ([("ls", {"path": "."})] * 2, ["Here:", "Anything", "else?"])


@pytest.mark.parametrize(
    "text", ['{"name": "ls"}', '{"parameters": {}}', "{hello [A(A=\t)A", "I used {ls} with {'path': '.'}.", "<|python_tag|> so"]
)
def test_other_json_isnt_a_call_of_llamas(text: str) -> None:
    heard = hear(get_dialect("llama3_json"), text)
    assert (heard.text, heard.calls) == (text, ())


@pytest.mark.parametrize(
    "frame", ["{}", "<tool_call>{}</tool_call>", "[TOOL_CALLS]{}", "\n```json\n{}\n```", "<think>hm</think>{}"]
)
def test_xlam_writes_its_list_in_many_frames(frame: str) -> None:
    heard = hear(get_dialect("xlam_json"), frame.format(f"[{LS}]"))
    assert (heard.made, heard.text.strip()) == ([("ls", {"path": "."})], "")
    if "think" not in frame:
        heard = hear(get_dialect("xlam_json"), "I look. " + frame.format(f"[{LS}, {LS}]"))
        assert (heard.names, heard.text.strip()) == (["ls", "ls"], "I look.")
