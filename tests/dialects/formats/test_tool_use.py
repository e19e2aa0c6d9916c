import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.parsing import TOOLS, cut_anyhow, hear, hear_pieces
from treadle.core.calls import Call
from treadle.dialects import get_dialect, json_repair

XML = get_dialect("xml")
PRETTY = """
<tool_use>
  <tool>grep</tool>
  <args>
    <pattern>a</pattern>
    <max_count>3</max_count>
    <ignore_case>true</ignore_case>
  </args>
</tool_use>
"""
markup = st.text(alphabet="ab<>/&;\n \"'{}[]`").filter(lambda text: "content>" not in text)


def use(name: str, inside: str) -> str:
    return f"<tool_use><tool>{name}</tool><args>{inside}</args></tool_use>"


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (use("grep", "<pattern>TODO</pattern><path>src</path>"), ("grep", {"pattern": "TODO", "path": "src"})),
        (PRETTY, ("grep", {"pattern": "a", "max_count": 3, "ignore_case": True})),
        (use("ls", ""), ("ls", {})),
        ("<tool_use><tool>ls</tool></tool_use>", ("ls", {})),
        ("<tool_use><tool>ls</tool><args/></tool_use>", ("ls", {})),
        ("<tool_use><name> ls </name><arguments><path>.</path></arguments></tool_use>", ("ls", {"path": "."})),
        (use("search", '<query>42</query><tags>["a", "b"]</tags>'), ("search", {"query": "42", "tags": ["a", "b"]})),
        (use("search", "<query>q</query><tags>a</tags><tags>b</tags>"), ("search", {"query": "q", "tags": ["a", "b"]})),
        (use("search", "<query/>"), ("search", {"query": ""})),
        (use("read_file", '{"path": "a", "start": 3,}'), ("read_file", {"path": "a", "start": 3})),
        (use("read_file", "<path>a</path><colour>red</colour>"), ("read_file", {"path": "a", "colour": "red"})),
        (use("ls", "<path>.</path>").replace("</args>", ""), ("ls", {"path": "."})),
        (use("ls", "<path>.</path>").removesuffix("</tool_use>"), ("ls", {"path": "."})),
        ("<tool_use><tool>ls</tool><args><path>.</path>", ("ls", {"path": "."})),
        ("<tool_use><tool>ls</tool><args><path>.</path></ar", ("ls", {"path": "."})),
        (f"```xml\n{use('ls', '<path>.</path>')}\n```", ("ls", {"path": "."})),
    ],
)
def test_a_call_in_elements_is_heard_and_not_shown(text: str, call: tuple[str, object]) -> None:
    heard = hear(XML, text)
    assert heard.made == [call]
    assert heard.text == ""


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("\n  a\n  b\n", "  a\n  b"),
        ("\n  a\n  ", "  a"),
        ("<b>bold</b> & more", "<b>bold</b> & more"),
        ("a &lt; b &amp;&amp; c &#65;&#x42;", "a < b && c AB"),
        ("a &lt; b & c", "a &lt; b & c"),
        ("&#9999999;", "&#9999999;"),
        ("<![CDATA[\n&lt; <content> ]]>", "\n&lt; <content> "),
        ("<content>x</content><b/>", "<content>x</content><b/>"),
        ("use the <content> tag", "use the <content> tag"),
        ("close with </content> they say", "close with </content> they say"),
        ("</tool_use>", "</tool_use>"),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_value_is_raw_text_without_its_layout(raw: str, value: str) -> None:
    heard = hear(XML, use("write_file", f"<content>{raw}</content><path>a</path>" if "</t" in raw else f"<content>{raw}</content>"))
    assert heard.made[0][1]["content"] == value


@settings(deadline=None)
@given(markup, st.integers(0, 99))
def test_any_text_comes_through_however_it_is_cut(content: str, seed: int) -> None:
    text = use("write_file", f"<content>\n{content}\n</content>")
    heard = hear_pieces(XML, cut_anyhow(text, seed))
    assert heard.made == [("write_file", {"content": content})]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use><tool>read_file</tool>",
        "<tool_use><tool>read_file</tool><args>",
        "<tool_use><tool>read_file</tool><args><path>src/ma",
        "<tool_use><tool>read_file</tool><args><path>a</path><sta",
        "<tool_use><tool>read_file</tool><args><path>a</pa",
        '<tool_use><tool>read_file</tool><args>{"path": "a',
    ],
)
def test_a_call_that_is_cut_off_is_marked_so(text: str) -> None:
    heard = hear(XML, text)
    assert [(call.name, call.cut) for call in heard.calls] == [("read_file", True)]
    assert heard.text == ""


def test_several_calls_and_the_words_around_them() -> None:
    one = use("ls", "")
    heard = hear(XML, f"I look. {one} bye")
    assert (heard.made, heard.text) == ([("ls", {})], "I look.  bye")
    assert hear(XML, f"{one}\n{one}{one.replace('</tool_use>', '')}{one}").names == ["ls"] * 4
    assert hear(XML, f"Go {one}").text == "Go "


@pytest.mark.parametrize(
    "text",
    [
        "Use the <tool_use> tag to call tools.",
        "<tool_use>",
        "<tool_use><tool>l",
        "<tool_use><b>ls</b></tool_use>",
        use("rm", "<path>.</path>"),
        use("ls", "some words"),
        use("ls", "<a b>.</a>"),
        use("ls", '{"path": "."]'),
        "<tool_use><tool>ls</tool><args></args> and words",
        f"`{use('ls', '')}`",
        f"```python\n{use('ls', '')}\n```",
        f"```xml\n{use('ls', '')}\n```\nis how it is done",
    ],
)
def test_what_isnt_a_call_of_a_tool_on_offer_stays_text(text: str) -> None:
    heard = hear(XML, text)
    assert (heard.text, heard.calls) == (text, ())


def test_arguments_that_make_no_sense_as_json_are_passed_on() -> None:
    heard = hear(XML, use("ls", "{path 3}"))
    assert heard.names == ["ls"]
    assert isinstance(json_repair.read_object(heard.calls[0].text), json_repair.JsonUnreadable)


def test_half_a_character_is_passed_on_as_an_escape() -> None:
    heard = hear(XML, use("ls", "<path>\ud83d</path>"), TOOLS)
    assert heard.calls[0].text == '{"path": "\\ud83d"}'


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\nlines"),
        ("\nlines\n", "\n\nlines\n\n"),
        (" ", "\n \n"),
        ("<b>bold</b> & so", "<b>bold</b> & so"),
        ("a && b", "a &amp;&amp; b"),
        ("</content>", "&lt;/content>"),
        ("<![CDATA[x]]>", "&lt;![CDATA[x]]>"),
        ("x\r", "x&#13;"),
    ],
)
def test_calls_are_spelled_with_raw_text_wherever_that_can_be_read(value: str, raw: str) -> None:
    spelled = XML.spell([Call("", "write_file", {"content": value}), Call("", "ls", {})])
    assert spelled == use("write_file", f"<content>{raw}</content>") + "\n" + use("ls", "")
    assert hear(XML, spelled).made == [("write_file", {"content": value}), ("ls", {})]


def test_values_that_are_no_text_are_spelled_as_json() -> None:
    calls = [Call("", "search", {"query": "q", "limit": 3, "tags": ["a", "<b>"]}), Call("", "ls", {"a b": 1})]
    spelled = XML.spell(calls)
    assert "<args>{" in spelled
    assert hear(XML, spelled).made == [(call.name, call.arguments) for call in calls]
