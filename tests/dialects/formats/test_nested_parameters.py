from typing import Any

import pytest
from msgspec.structs import replace

from dialects.parsing import TOOLS, hear, tool
from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.dialects import auto_dialect, get_dialect, json_repair
from treadle.dialects.dialect import TextDialect

MARK = "]<]minimax[>["
M3 = get_dialect("minimax_m3_xml")
assert isinstance(M3, TextDialect)

ORDER = ToolSpec(
    "order",
    "",
    {
        "type": "object",
        "properties": {
            "number": {"type": "integer"},
            "note": {"type": "string"},
            "to": {"$ref": "#/$defs/address"},
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"item": {"type": "string"}, "count": {"type": "integer"}}},
            },
            "tags": {"type": "array", "items": {"type": "string"}},
            "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
            "any": {},
            "either": {
                "anyOf": [
                    {"type": "array", "items": {"type": "integer"}},
                    {"type": "object", "properties": {"max": {"type": "number"}}},
                ]
            },
            "label": {"oneOf": [{"type": "string"}, {"type": "object"}]},
        },
        "$defs": {"address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}}},
    },
)


def marked(text: str) -> str:
    """The text with the token before each of its tags."""
    return text.replace("<", f"{MARK}<")


def order(inside: str) -> str:
    return marked(f'<tool_call>\n<invoke name="order">{inside}</invoke>\n</tool_call>')


def heard_of(inside: str) -> Any:
    heard = hear(M3, order(inside), [ORDER])
    assert (heard.text, [name for name, _ in heard.made]) == ("", ["order"])
    return heard.made[0][1]


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        ("", {}),
        ("<number>042</number><note> a\nb </note>", {"number": 42, "note": " a\nb "}),
        ("<to><city>12</city><zip>3</zip></to>", {"to": {"city": "12", "zip": 3}}),
        ("<tags><item>a</item><item>1</item></tags>", {"tags": ["a", "1"]}),
        ("<tags><tag>a</tag></tags>", {"tags": ["a"]}),
        ("<tags>a</tags><tags>b</tags>", {"tags": ["a", "b"]}),
        ('<tags>["a"]</tags><to>{"zip": 3}</to>', {"tags": ["a"], "to": {"zip": 3}}),
        ("<lines>\n<item><item>x</item><count>2</count></item>\n</lines>", {"lines": [{"item": "x", "count": 2}]}),
        ("<extra><a>1</a><b>2</b></extra>", {"extra": {"a": 1, "b": 2}}),
        ("<any><item>a</item></any>", {"any": ["a"]}),
        ("<any><a>1</a><a>2</a></any>", {"any": {"a": ["1", "2"]}}),
        ("<either><item>1</item></either>", {"either": [1]}),
        ("<either><max>1.5</max></either>", {"either": {"max": 1.5}}),
        ("<label>hi</label>", {"label": "hi"}),
        ("<label><a>hi</a></label>", {"label": marked("<a>hi</a>")}),
        ("<other>a</other>", {"other": "a"}),
        ('{"number": 1, "note": "b"}', {"number": 1, "note": "b"}),
    ],
)
def test_elements_mean_what_the_schema_says(inside: str, arguments: object) -> None:
    assert heard_of(inside) == arguments


def test_values_are_raw_text() -> None:
    text = marked('<tool_call><invoke name="order"><note>') + "a <b> & </note> ] <" + marked("</note></invoke></tool_call>")
    assert hear(M3, text, [ORDER]).made == [("order", {"note": "a <b> & </note> ] <"})]


def test_several_calls_and_the_words_around_them() -> None:
    ls = '<invoke name="ls"><path>.</path></invoke>'
    text = "I look." + marked(f"<tool_call>{ls}\n{ls}</tool_call>\n<tool_call>\n{ls}</tool_call>") + " Bye."
    for dialect in (M3, auto_dialect(strict=False)):
        heard = hear(dialect, text)
        assert (heard.made, heard.text) == ([("ls", {"path": "."})] * 3, "I look. Bye.")


def test_without_tools_all_values_are_text() -> None:
    text = order("<number>1</number><tags><item>[2]</item></tags>")
    assert hear(replace(M3, forward=True), text, []).made == [("order", {"number": "1", "tags": ["[2]"]})]


@pytest.mark.parametrize("end", ["</invoke>\n</tool_call>", "</invoke>", "</tool_call>", ""])
def test_closing_tags_may_be_missing_after_the_last_value(end: str) -> None:
    text = marked(f'<tool_call>\n<invoke name="ls"><path>.</path>{end}')
    assert hear(M3, text).made == [("ls", {"path": "."})]
    assert hear(M3, text + marked('<invoke name="ls"></invoke>')).made == [("ls", {"path": "."}), ("ls", {})]


@pytest.mark.parametrize(
    "text",
    ["<path>sr", "<path>src", "<path", "<path>a</path><al", "<path>src</pa", "<path><a>b</a>", "<path>a<", "<path>a</path>\n</"],
)
def test_a_call_that_is_cut_off_is_marked_so(text: str) -> None:
    heard = hear(M3, marked(f'<tool_call>\n<invoke name="ls">{text}'))
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", text != "<path>a</path>\n</")]


def test_a_value_may_be_cut_off_in_the_token() -> None:
    heard = hear(M3, marked('<tool_call>\n<invoke name="ls"><path>src') + MARK[:6])
    assert [call.cut for call in heard.calls] == [True]
    heard = hear(M3, marked('<tool_call>\n<invoke name="ls"><path>src') + MARK)
    assert [call.cut for call in heard.calls] == [True]


@pytest.mark.parametrize(
    "inside",
    ["<path>a</wrong>", "</path>", "words", "<path\n>a</path>", f"<path>a{MARK}b</path>", "<a>" * 200 + "b" + "</a>" * 200],
)
def test_what_makes_no_sense_stays_text(inside: str) -> None:
    text = (
        marked('<tool_call>\n<invoke name="ls">')
        + (inside if MARK in inside else marked(inside))
        + marked("</invoke>\n</tool_call>")
    )
    heard = hear(M3, text)
    assert (heard.text, heard.calls) == (text, ())


def test_elements_may_be_nested_as_deeply_as_json() -> None:
    deepest = json_repair.MAX_DEPTH - 1
    heard = hear(M3, order("<any>" + "<a>" * deepest + "b" + "</a>" * deepest + "</any>"), [ORDER])
    assert heard.names == ["order"]


def test_a_tool_that_isnt_on_offer_is_forwarded() -> None:
    assert hear(M3, marked('<tool_call><invoke name="rm"><path>.</path></invoke></tool_call>')).made == [("rm", {"path": "."})]


def test_thinking_has_tags_of_its_own() -> None:
    heard = hear(M3, f"<mm:think>So.</mm:think>{order('')}", [ORDER])
    assert (heard.thinking, heard.names) == ("So.", ["order"])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "a <b>", "limit": 3, "tags": ["a", "", " "]},
        {"query": f"a{MARK}b", "tags": []},
        {"tags": ["[1]", "b"]},
        {"tags": ["a"], "not a name": "x"},
    ],
)
def test_calls_come_back_as_they_were_spelled(arguments: dict[str, Any]) -> None:
    calls = [Call("", "search", arguments), Call("", "ls", {})]
    heard = hear(M3, M3.spell(calls), TOOLS)
    assert heard.made == [("search", arguments), ("ls", {})]
    assert heard.text == ""
    assert M3.spell([]) == ""


def test_a_list_of_several_kinds_comes_back_as_it_was_spelled() -> None:
    mixed = {"items": [1, "a", None], "options": {"a": "b"}}
    heard = hear(M3, M3.spell([Call("", "todo", mixed)]), [tool("todo", items="array", options="object")])
    assert heard.made == [("todo", mixed)]
