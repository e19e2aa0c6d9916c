"""Calls with tagged parameters, in all families that have the same needs; what only one of them has is further below."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from dialects.parsing import TOOLS, Heard, cut_anyhow, hear, hear_pieces, tool
from properties import examples
from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.dialects import auto_dialect, get_dialect
from treadle.dialects.dialect import TextDialect

BAR = "\uff5c"


class Family(Struct, frozen=True):
    """How one family writes things: a call, a parameter, and the tags around calls."""

    name: str
    call: str
    parameter: str
    around: tuple[str, str] = ("", "")

    def calls(self, *calls: tuple[str, dict[str, str]]) -> str:
        return self.around[0] + "".join(self.one(name, given) for name, given in calls) + self.around[1]

    def one(self, name: str, given: dict[str, str]) -> str:
        inside = "".join(self.parameter.replace("KEY", key).replace("VALUE", value) for key, value in given.items())
        return self.call.replace("NAME", name).replace("INSIDE", inside)

    @property
    def dialect(self) -> TextDialect:
        found = get_dialect(self.name)
        assert isinstance(found, TextDialect)
        return found


FUNCTION = "<function=NAME>\nINSIDE</function>\n"
INVOKE = '<invoke name="NAME">\nINSIDE</invoke>\n'
DSML = f'<{BAR}DSML{BAR}invoke name="NAME">\nINSIDE</{BAR}DSML{BAR}invoke>\n'
DSML_PARAMETER = f'<{BAR}DSML{BAR}parameter name="KEY">VALUE</{BAR}DSML{BAR}parameter>\n'
PAIR = "<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n"
STEP = f"<{BAR}tool_call_begin{BAR}>function<{BAR}tool_sep{BAR}>"
FAMILIES = [
    Family("qwen3_xml", FUNCTION, "<parameter=KEY>\nVALUE\n</parameter>\n", ("<tool_call>\n", "</tool_call>")),
    Family("qwen3_xml_step3p5", FUNCTION, "<parameter=KEY>\nVALUE\n</parameter>\n", ("<tool_call>\n", "</tool_call>")),
    Family("seed_oss_xml", FUNCTION, "<parameter=KEY>VALUE</parameter>\n", ("<seed:tool_call>\n", "</seed:tool_call>")),
    Family("glm45_xml", "<tool_call>NAME\nINSIDE</tool_call>", PAIR),
    Family("glm47_xml", "<tool_call>NAMEINSIDE</tool_call>", PAIR.replace("\n", "")),
    Family("ling3_xml", "<tool_call>NAMEINSIDE</tool_call>", PAIR.replace("\n", "")),
    Family("poolside_xml", "<tool_call>NAME\nINSIDE</tool_call>", PAIR),
    Family("hunyuan_v3_xml", "<tool_call>NAME<tool_sep>\nINSIDE</tool_call>\n", PAIR, ("<tool_calls>\n", "</tool_calls>")),
    Family(
        "minimax_m2_xml", INVOKE, '<parameter name="KEY">VALUE</parameter>\n', ("<minimax:tool_call>\n", "</minimax:tool_call>")
    ),
    Family("deepseek_v32_dsml", DSML, DSML_PARAMETER, (f"<{BAR}DSML{BAR}function_calls>\n", f"</{BAR}DSML{BAR}function_calls>")),
    Family("deepseek_v4_dsml", DSML, DSML_PARAMETER, (f"<{BAR}DSML{BAR}tool_calls>\n", f"</{BAR}DSML{BAR}tool_calls>")),
    Family(
        "step3_steptml",
        f'{STEP}<steptml:invoke name="NAME">INSIDE</steptml:invoke><{BAR}tool_call_end{BAR}>',
        '<steptml:parameter name="KEY">VALUE</steptml:parameter>',
        (f"<{BAR}tool_calls_begin{BAR}>", f"<{BAR}tool_calls_end{BAR}>"),
    ),
    Family("dots_xml", INVOKE, '<parameter name="KEY">VALUE</parameter>', ("<dots_function_call>", "</dots_function_call>")),
    Family("minicpm5_xml", '<function name="NAME">INSIDE</function>', '<param name="KEY">VALUE</param>'),
]
FAMILY = {family.name: family for family in FAMILIES}
of_every_family = pytest.mark.parametrize("family", FAMILIES, ids=list(FAMILY))
MORE = (
    *TOOLS,
    tool("todo", items={"type": "array"}, options="object", done="boolean", share="float", note={"type": ["string", "null"]}),
)


@of_every_family
def test_calls_are_heard_with_their_values_typed_and_not_shown(family: Family) -> None:
    text = family.calls(
        ("grep", {"pattern": "TODO", "path": "src", "max_count": "3", "ignore_case": "true"}),
        ("todo", {"items": '[{"a": 1}, null]', "options": "{'b': [1.5]}", "done": "False", "share": "0.5", "note": "null"}),
        ("write_file", {"path": "é世🎯.txt", "content": '{"a": 1}'}),
        ("ls", {}),
    )
    heard = hear(family.dialect, text, MORE)
    assert heard.made == [
        ("grep", {"pattern": "TODO", "path": "src", "max_count": 3, "ignore_case": True}),
        ("todo", {"items": [{"a": 1}, None], "options": {"b": [1.5]}, "done": False, "share": 0.5, "note": None}),
        ("write_file", {"path": "é世🎯.txt", "content": '{"a": 1}'}),
        ("ls", {}),
    ]
    assert heard.text == ""


@of_every_family
def test_words_around_calls_are_kept(family: Family) -> None:
    text = f"I look. {family.calls(('ls', {'path': '.'}))}\nAnd now?{family.calls(('ls', {}))} Bye."
    for dialect in (family.dialect, auto_dialect(strict=False)):
        heard = hear(dialect, text)
        assert heard.made == [("ls", {"path": "."}), ("ls", {})]
        assert heard.text.split() == ["I", "look.", "And", "now?", "Bye."]


@of_every_family
@pytest.mark.parametrize(
    "value",
    [
        "a < b && c > d",
        "<b>bold</b> &amp; more",
        "use <tool_call> and </tool_call>, </tool_calls>, </think>",
        "def f():\n    return '<function='",
        'say "hello"',
        "```\ncode\n```",
    ],
)
def test_a_value_with_tags_in_it_is_that_text(family: Family, value: str) -> None:
    heard = hear(family.dialect, family.calls(("write_file", {"content": value, "path": "a"})))
    assert heard.made == [("write_file", {"content": value, "path": "a"})]


@of_every_family
def test_the_end_of_a_value_inside_it_is_text_where_nothing_follows_that_follows_values(family: Family) -> None:
    end = family.parameter.partition("VALUE")[2].strip()
    heard = hear(family.dialect, family.calls(("write_file", {"content": f"close with {end} they say", "path": "a"})))
    assert heard.made == [("write_file", {"content": f"close with {end} they say", "path": "a"})]


@of_every_family
@examples(20)
@given(content=st.text("ab<>/&;\n\"'{}[]=`\\").map(lambda text: f"|{text}|"), seed=st.integers(0, 99))
def test_any_text_comes_through_however_it_is_cut(family: Family, content: str, seed: int) -> None:
    text = family.calls(("write_file", {"content": content}))
    assert hear_pieces(family.dialect, cut_anyhow(text, seed)).made == [("write_file", {"content": content})]


@of_every_family
def test_a_call_cut_off_inside_a_value_is_marked_so(family: Family) -> None:
    whole = family.calls(("ls", {}), ("write_file", {"path": "a", "content": "some text"}))
    for end in range(whole.index("some t"), whole.index("some text") + len("some text") + 3):
        heard = hear(family.dialect, whole[:end])
        assert heard.made == [("ls", {})]
        assert [(call.name, call.cut) for call in heard.calls] == [("ls", False), ("write_file", True)]
        assert heard.text == ""


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.name != "poolside_xml"], ids=lambda family: family.name)
def test_closing_tags_may_be_missing_after_the_last_value(family: Family) -> None:
    whole = family.calls(("write_file", {"path": "a", "content": "b"}))
    end = family.parameter.partition("VALUE")[2].strip()
    for stop in range(whole.rindex(end) + len(end), len(whole)):
        heard = hear(family.dialect, whole[:stop])
        assert heard.made == [("write_file", {"path": "a", "content": "b"})], whole[:stop]
        assert heard.text == ""


@of_every_family
def test_a_call_that_the_reply_ends_in_has_to_have_what_the_tool_needs(family: Family) -> None:
    needy = ToolSpec("move", "", {"type": "object", "properties": {"to": {}, "by": {}}, "required": ["to", "by"]})
    whole = family.calls(("move", {"to": "THERE"}))
    assert [call.cut for call in hear(family.dialect, whole, [needy]).calls] == [False]
    unclosed = whole[: whole.index("THERE") + 5] + family.parameter.partition("VALUE")[2]
    assert [call.cut for call in hear(family.dialect, unclosed, [needy]).calls] == [True]


@of_every_family
def test_the_arguments_may_be_a_json_object(family: Family) -> None:
    text = family.calls(("read_file", {})).replace("</", '{"path": "a</b>", "start": 3,}</', 1)
    assert hear(family.dialect, text).made == [("read_file", {"path": "a</b>", "start": 3})]
    assert [call.cut for call in hear(family.dialect, text[: text.index("</b")]).calls] == [True]
    assert hear(family.dialect, text.replace("{", "{]")).calls == ()
    assert hear(family.dialect, text.replace('"path":', "path 4")).calls[0].text.startswith("{path 4")


@of_every_family
def test_a_tool_that_isnt_on_offer_is_forwarded_where_the_family_is_known_to_call_such(family: Family) -> None:
    text = family.calls(("rm", {"path": "."}))
    forwards = family.name in {"qwen3_xml", "qwen3_xml_step3p5", "seed_oss_xml", "glm45_xml", "glm47_xml", "ling3_xml"} or (
        "dsml" in family.name or "step" in family.name
    )
    heard = hear(replace(family.dialect, forward=True), text)
    assert (heard.made, heard.text) == (([("rm", {"path": "."})], "") if forwards else ([], text))


@of_every_family
def test_without_tools_all_values_are_text(family: Family) -> None:
    heard = hear(replace(family.dialect, forward=True), family.calls(("any", {"a": "1", "b": "[true]", "c": "null"})), [])
    assert heard.made == [("any", {"a": "1", "b": "[true]", "c": "null"})]


@of_every_family
def test_what_a_tool_doesnt_declare_is_text_or_json(family: Family) -> None:
    heard = hear(family.dialect, family.calls(("ls", {"colour": "red", "count": "3", "more": "[1]"})))
    assert heard.made == [("ls", {"colour": "red", "count": "3", "more": [1]})]


@of_every_family
def test_of_values_with_the_same_name_the_last_counts_unless_they_make_a_list(family: Family) -> None:
    twice = family.calls(("search", {"query": "b", "query ": "a", "tags": "x", "tags ": "y"}))
    assert hear(family.dialect, twice.replace("query ", "query").replace("tags ", "tags")).made == [
        ("search", {"query": "a", "tags": ["x", "y"]})
    ]


@of_every_family
def test_arguments_wrapped_in_one_that_the_tool_doesnt_have_are_taken_out(family: Family) -> None:
    heard = hear(family.dialect, family.calls(("ls", {"arguments": '{"path": "a"}'}), ("ls", {"input": '{"colour": "a"}'})))
    assert heard.made == [("ls", {"path": "a"}), ("ls", {"input": {"colour": "a"}})]


@of_every_family
def test_frames_with_nothing_in_them_are_left_out(family: Family) -> None:
    opens, close = family.around if family.around[0] else ("<tool_call>", "</tool_call>")
    if family.name != "minicpm5_xml":
        assert hear(family.dialect, f"{opens}{close}So.").text == "So."


@of_every_family
def test_words_about_a_call_stay_words(family: Family) -> None:
    opens = family.calls(("ls", {})).partition("ls")[0]
    for text in (f"Write {opens} and so on.", f"Write {opens}ls> to list things.", f"{opens}no call at all"):
        heard = hear(family.dialect, text)
        assert (heard.text, heard.calls) == (text, ())


@of_every_family
def test_a_fence_may_hold_calls(family: Family) -> None:
    heard = hear(family.dialect, f"```xml\n{family.calls(('ls', {'path': '.'}), ('ls', {}))}\n```")
    assert heard.made == [("ls", {"path": "."}), ("ls", {})]


@of_every_family
def test_calls_come_one_by_one(family: Family) -> None:
    parser = family.dialect.parser(TOOLS)
    text = family.calls(("ls", {"path": "HERE"}), ("ls", {"path": "THERE"}))
    half = text.index("THERE")
    assert [call.text for call in parser.feed(text[:half]).calls] == ['{"path":"HERE"}']
    assert [call.text for call in (*parser.feed(text[half:]).calls, *parser.close().calls)] == ['{"path":"THERE"}']


def one(name: str, text: str, tools: tuple[ToolSpec, ...] = TOOLS) -> Heard:
    return hear(get_dialect(name), text, tools)


@pytest.mark.parametrize(
    ("raw", "value"),
    [("\na\n", "a"), ("a", "a"), ("\n\na\n\n", "\na\n"), (" \na\n ", " \na\n "), ("\n    a\n", "    a"), ("\n\n", ""), ("", "")],
)
def test_a_line_break_on_each_side_is_layout(raw: str, value: str) -> None:
    text = f"<tool_call>\n<function=ls>\n<parameter=path>{raw}</parameter>\n</function>\n</tool_call>"
    assert one("qwen3_xml", text).made == [("ls", {"path": value})]
    assert one("minimax_m2_xml", FAMILY["minimax_m2_xml"].calls(("ls", {"path": raw}))).made == [("ls", {"path": raw})]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("<function=ls>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>", [("ls", {"path": "."})]),
        (
            "<function=ls>\n<parameter=path>\n.\n<parameter=all>\ntrue\n</parameter>\n</function>",
            [("ls", {"path": ".", "all": True})],
        ),
        ("<function=ls>\n<parameter=path>\n.\n</function>\n</tool_call>", [("ls", {"path": "."})]),
        ("<function=ls>\n<parameter=path>.</parameter>\n</parameter>\n</function>", [("ls", {"path": "."})]),
        ("<function=ls\n<parameter=path>.</parameter>\n</function>", [("ls", {"path": "."})]),
        ('<function="ls">\n<parameter="path">.</parameter>\n</function>', [("ls", {"path": "."})]),
        ("<function=ls/>", [("ls", {})]),
        ("<function=ls>\n<function=ls>\n</function>\n</tool_call>", [("ls", {}), ("ls", {})]),
        (
            "<function=ls>\n<parameter=path>.</parameter>\n<tool_call>\n<function=ls>\n</function>",
            [("ls", {"path": "."}), ("ls", {})],
        ),
        ("<tool_call>\n<function=ls>\n<parameter=path>.</parameter>\n</tool_call>", [("ls", {"path": "."})]),
        ('<tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>', [("ls", {"path": "."})]),
        ('<tool_call>[{"name": "ls", "arguments": {}}]', [("ls", {})]),
    ],
)
def test_bent_tags_are_put_up_with(text: str, calls: list[object]) -> None:
    heard = one("qwen3_xml", text)
    assert (heard.made, heard.text) == (calls, "")


@pytest.mark.parametrize(
    "text",
    [
        "<function=l",
        "<function=rm\n<parameter=path>.</parameter>",
        "<function=ls>\n<parameter=path\n.</parameter>\n</function>",
        "<function=ls>\n<parametre=path>.</parametre>\n</function>",
        "<function=>\n</function>",
        '<function=ls>{"path": "."}<parameter=all>true</parameter></function>',
        '<tool_call>{"name": "ls"} and words',
        '<tool_call>{"name": "ls"]</tool_call>',
        "<tool_call>\n<func",
    ],
)
def test_what_makes_no_call_stays_text(text: str) -> None:
    heard = one("qwen3_xml", text)
    assert (heard.text, heard.calls) == (text, ())


def test_a_parameter_that_the_tool_doesnt_have_is_text_inside_another() -> None:
    text = "<function=write_file><parameter=content>see <parameter=colour> there</parameter></function>"
    assert one("qwen3_xml", text).made == [("write_file", {"content": "see <parameter=colour> there"})]
    assert [call.cut for call in one("qwen3_xml", text[: text.index("our>")]).calls] == [True]


def test_a_json_call_that_is_cut_off_is_marked_so() -> None:
    assert [call.cut for call in one("qwen3_xml", '<tool_call>{"name": "ls", "arguments": {"pa').calls] == [True]


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        (r"\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n", {"path": "a"}),
        ("<arg_key>path</arg_key>", {}),
        ("<arg_key>path</arg_key><arg_key>all</arg_key><arg_value>true</arg_value>", {"all": True}),
        ("<arg_key> path </arg_key><arg_value> a </arg_value>", {"path": " a "}),
        ("<arg_key>a<b></arg_key><arg_value>&lt;</arg_value>", {"a<b>": "&lt;"}),
        ('<arg_key>path</arg_key><arg_value>"a\\d"</arg_value>', {"path": "a\\d"}),
        ('<arg_key>path</arg_key><arg_value>"a" and "b"</arg_value>', {"path": '"a" and "b"'}),
        ("<arg_key>path</arg_key><arg_value>a<arg_key>all</arg_key><arg_value>true</arg_value>", {"path": "a", "all": True}),
    ],
)
def test_names_and_values_in_pairs(inside: str, arguments: object) -> None:
    heard = one("glm45_xml", f"<tool_call>ls{inside}</tool_call>")
    assert (heard.made, heard.text) == ([("ls", arguments)], "")


def test_what_stands_in_place_of_a_name_may_be_json() -> None:
    heard = one(
        "glm45_xml", 'So. <tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>\n<tool_call>ls</tool_call> Bye'
    )
    assert (heard.made, heard.text) == ([("ls", {"path": "."}), ("ls", {})], "So.  Bye")


def test_json_with_its_quotes_escaped_is_read() -> None:
    text = r"<tool_call>todo\n<arg_key>items</arg_key>\n<arg_value>[{\"a\": \"C:\\\\b\"}]</arg_value></tool_call>"
    assert one("glm45_xml", text, MORE).made == [("todo", {"items": [{"a": "C:\\b"}]})]
    text = r"<tool_call>todo\n<arg_key>options</arg_key>\n<arg_value>{\"a\": \"b}</arg_value></tool_call>"
    assert one("glm45_xml", text, MORE).made == [("todo", {"options": r"{\"a\": \"b}"})]


@pytest.mark.parametrize("text", ["<tool_call>ls<arg_key>pa", "<tool_call>ls<arg_key>path</arg_key>\n", "<tool_call>ls"])
def test_a_pair_that_is_cut_off_leaves_the_call_cut_off(text: str) -> None:
    assert [(call.name, call.cut) for call in one("glm45_xml", text).calls] == [("ls", True)]


@pytest.mark.parametrize(
    "text",
    ["<tool_call>ls<arg_key>path</arg_key>words</tool_call>", "<tool_call>\\ls</tool_call>", "<tool_call>ls and more</tool_call>"],
)
def test_a_pair_with_something_in_between_is_none(text: str) -> None:
    heard = one("glm45_xml", text)
    assert (heard.text, heard.calls) == (text, ())


def test_poolsides_calls_have_to_be_closed_and_may_be_written_in_other_ways() -> None:
    assert one("poolside_xml", "<tool_call>ls\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n").made == []
    assert one("poolside_xml", "So.\n<user>ls\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</user>").made == [
        ("ls", {"path": "a"})
    ]
    assert one("poolside_xml", 'So.\n{"name": "ls", "arguments": {"path": "a"}}').made == [("ls", {"path": "a"})]
    assert one("poolside_xml", '<tool_call>ls\n{"path": "a"}').calls[0].cut
    assert one("poolside_xml", "<user>hello</user>").text == "<user>hello</user>"


def test_hunyuans_tags_may_have_a_suffix() -> None:
    text = FAMILY["hunyuan_v3_xml"].calls(("ls", {"path": "."}))
    for word in ("tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value"):
        text = text.replace(f"{word}>", f"{word}:opensource>")
    assert one("hunyuan_v3_xml", text).made == [("ls", {"path": "."})]


@pytest.mark.parametrize(
    ("kind", "raw", "given", "value"),
    [
        ("string", "42", "true", "42"),
        ("string", "null", "false", "null"),
        ("integer", "42", "true", 42),
        ("integer", "abc", "false", "abc"),
        (["string", "null"], "null", "true", "null"),
        (["string", "null"], "null", "false", None),
        (None, "42", "false", 42),
        (None, "42", "true", "42"),
        (None, "[broken", "false", "[broken"),
    ],
)
def test_a_tag_may_say_whether_a_value_is_a_string(kind: object, raw: str, given: str, value: object) -> None:
    text = FAMILY["deepseek_v4_dsml"].calls(("f", {"x": raw})).replace('"x"', f'"x" string="{given}"')
    assert one("deepseek_v4_dsml", text, (tool("f", x={"type": kind} if kind else {}),)).made == [("f", {"x": value})]


def test_an_invocation_may_close_itself_and_stand_alone() -> None:
    assert one("deepseek_v4_dsml", f'Go.\n<{BAR}DSML{BAR}invoke name="ls"/>').made == [("ls", {})]


def test_a_call_ends_a_thought_that_wasnt_closed() -> None:
    heard = one("deepseek_v4_dsml", f"<think>I look.\n{FAMILY['deepseek_v4_dsml'].calls(('ls', {}))}")
    assert (heard.thinking, heard.made) == ("I look.", [("ls", {})])


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (" a ", "a"),
        ("<![CDATA[ a </param> ]]>", " a </param> "),
        ("\n<![CDATA[a]]]]><![CDATA[>b]]>\n", "a]]>b"),
        ("a &lt; b &#65;", "a < b A"),
        ("A & B &lt;", "A & B &lt;"),
    ],
)
def test_minicpms_values_may_be_wrapped(raw: str, value: str) -> None:
    text = FAMILY["minicpm5_xml"].calls(("ls", {"path": raw}))
    for collapsed in (text, text.replace(" name=", "name="), text.replace(" name=", "\u0120name=")):
        assert one("minicpm5_xml", collapsed).made == [("ls", {"path": value})]


def test_a_wrapping_that_is_cut_off_leaves_the_call_cut_off() -> None:
    assert one("minicpm5_xml", '<function name="ls"><param name="path"><![CDATA[a').calls[0].cut


def test_a_parameter_without_a_name_makes_no_call() -> None:
    text = '<function name="ls"><param>a</param></function>'
    assert one("minicpm5_xml", text).text == text


@of_every_family
def test_what_cant_stand_between_tags_is_spelled_as_json(family: Family) -> None:
    end = family.parameter.partition("VALUE")[2].strip()
    calls = [
        Call("", "write_file", {"content": f"a{end}{end} ]]>", "path": "\nb\n"}),
        Call("", "write_file", {"content": '"a"'}),
        Call("", "write_file", {"content": "a", "a > b": "c"}),
        Call("", "search", {"tags": [end, "a"]}),
        Call("", "ls", {}),
    ]
    heard = hear(family.dialect, family.dialect.spell(calls))
    assert heard.made == [(call.name, call.arguments) for call in calls]
    assert heard.text == ""
    assert family.dialect.spell([]) == ""


@of_every_family
def test_a_model_is_taught_by_an_example(family: Family) -> None:
    lesson = family.dialect.lesson
    example = lesson.partition("\n")[2].rpartition("\n")[0]
    heard = hear(family.dialect, example, [tool("TOOL", ARGUMENT="string")])
    assert heard.made == [("TOOL", {"ARGUMENT": "VALUE"})]
    assert len(lesson) < 420
