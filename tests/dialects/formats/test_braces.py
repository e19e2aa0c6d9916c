import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dialects.parsing import TOOLS, Heard, cut_anyhow, hear, hear_pieces, tool
from treadle.core.calls import Call
from treadle.core.seams import Dialect
from treadle.dialects import get_dialect
from treadle.dialects.dialect import TextDialect
from treadle.dialects.json_repair import JsonUnreadable, read_object

TOKENS = {
    "functiongemma": ("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": ("<|tool_call>", "<tool_call|>", '<|"|>'),
}
LS = ("ls", {"path": "."})
every = pytest.mark.parametrize("name", sorted(TOKENS))


def quoted(name: str, inside: str) -> str:
    """With the family's own quotes where ~ stands."""
    return inside.replace("~", TOKENS[name][2])


def frame(name: str, inside: str) -> str:
    opener, closer, _ = TOKENS[name]
    return f"{opener}call:{quoted(name, inside)}{closer}"


def loose(name: str) -> Dialect:
    dialect = get_dialect(name)
    assert isinstance(dialect, TextDialect)
    return replace(dialect, forward=True)


def arguments(name: str, inside: str) -> object:
    heard = hear(loose(name), frame(name, inside), ())
    assert heard.text == ""
    return heard.made[0][1]


def untouched(heard: Heard, text: str) -> bool:
    return (heard.text, heard.calls) == (text, ())


@every
def test_a_call_is_heard_and_not_shown(name: str) -> None:
    heard = hear(get_dialect(name), frame(name, "ls{path:~.~}"))
    assert (heard.made, heard.text) == ([LS], "")
    assert hear(get_dialect(name), TOKENS[name][0] + quoted(name, " ls{path:~.~}") + TOKENS[name][1]).made == [LS]


@every
def test_several_calls_and_the_words_around_them(name: str) -> None:
    one, two = frame(name, "ls{path:~.~}"), frame(name, "grep{pattern:~é~,max_count:3}")
    heard = hear(get_dialect(name), f"I look. {one}{two} Then {one}\nDone.")
    assert heard.made == [LS, ("grep", {"pattern": "é", "max_count": 3}), LS]
    assert heard.text == "I look.  Then \nDone."


@every
def test_a_tool_without_arguments_has_none(name: str) -> None:
    for inside in ("ls{}", "ls{ }", "ls {}", "ls"):
        assert hear(get_dialect(name), frame(name, inside)).made == [("ls", {})]


@every
@pytest.mark.parametrize(
    ("inside", "given"),
    [
        ("f{a:~x~,b:~ y\n~}", {"a": "x", "b": " y\n"}),
        (
            "f{a:1,b:-2.5,c:true,d:false,e:null,f:1.5e3,g:108.}",
            {"a": 1, "b": -2.5, "c": True, "d": False, "e": None, "f": 1500.0, "g": 108.0},
        ),
        (
            "f{a:{b:{c:~d~,e:1},f:{}},g:[],h:[[1,2],[~x~,{i:true}]]}",
            {"a": {"b": {"c": "d", "e": 1}, "f": {}}, "g": [], "h": [[1, 2], ["x", {"i": True}]]},
        ),
        ("f{\n  a: ~x~,\n  b: [ 1, ~y~ , z ]\n}", {"a": "x", "b": [1, "y", "z"]}),
        ("f{a:~x, y:{z}[1]~}", {"a": "x, y:{z}[1]"}),
        ('f{a:~say "hi", it\'s \\"so\\" C:\\new~}', {"a": 'say "hi", it\'s \\"so\\" C:\\new'}),
        ("f{a:~1~,b:~true~,c:~~}", {"a": "1", "b": "true", "c": ""}),
        ('f{~3~:~x~,"b c":1}', {"3": "x", "b c": 1}),
        ("f{a:some words,b:it's,c:https://x.org/a?b=1}", {"a": "some words", "b": "it's", "c": "https://x.org/a?b=1"}),
        ("f{a:}", {"a": ""}),
        ('f{a:"x \\"y\\" \\n, b: 1",c:["d","\\q"]}', {"a": 'x "y" \n, b: 1', "c": ["d", "\\q"]}),
        ("f{a:'^\\d+ \\q',b:'it\\'s'}", {"a": "^\\d+ \\q", "b": "it\\'s"}),
        ('f{a:"x" or "y"}', {"a": '"x" or "y"'}),
        ('f{a:"\x01\\u12"}', {"a": "\x01\\u12"}),
        ("f{a:'x'~}", {"a": "x"}),
        ("f{a:~x~b:~y~ c:1}", {"a": "x", "b": "y", "c": 1}),
        ("f{a:[1,2,],b:3,}", {"a": [1, 2], "b": 3}),
        ("f{a:1", {"a": 1}),
        ("f{a:~x~", {"a": "x"}),
        ("f{a:'x'", {"a": "x"}),
        ("f{a:[1]", {"a": [1]}),
        ("f{b:1,a:~x}", {"b": 1, "a": "x"}),
        ("f{a:~é世🎯~}", {"a": "é世🎯"}),
    ],
)
def test_values_are_what_they_look_like_where_no_schema_says_otherwise(name: str, inside: str, given: object) -> None:
    assert arguments(name, inside) == given


TUNE = tool(
    "tune",
    code="string",
    count="integer",
    on="boolean",
    pitch="number",
    note={"type": ["string", "null"]},
    string={"type": "object", "properties": {"metal": {"type": "string"}, "gauge": {"type": "integer"}}},
    marks={"type": "array", "items": {"type": "string"}},
    things={"type": "array"},
)


@every
@pytest.mark.parametrize(
    ("inside", "given"),
    [
        ("code:04109,count:42", {"code": "04109", "count": 42}),
        ("code:null,note:null", {"code": "null", "note": None}),
        ("on:~true~,count:~7~,pitch:~2.5~", {"on": True, "count": 7, "pitch": 2.5}),
        ("code:~007~,note:~null~", {"code": "007", "note": "null"}),
        ("string:{metal:c,gauge:12,more:1}", {"string": {"metal": "c", "gauge": 12, "more": 1}}),
        ("marks:[1,true],things:[1,true]", {"marks": ["1", "true"], "things": [1, True]}),
        ("colour:red,size:3", {"colour": "red", "size": 3}),
    ],
)
def test_the_schema_has_the_last_word(name: str, inside: str, given: object) -> None:
    assert hear(get_dialect(name), frame(name, f"tune{{{inside}}}"), [TUNE]).made == [("tune", given)]


@every
def test_a_mark_inside_a_text_is_part_of_it(name: str) -> None:
    opener, closer, _ = TOKENS[name]
    for inner in (opener, closer, f"{opener}call:ls{{}}{closer}", "</think>", "}", "\n```\n", "<", "<|"):
        assert arguments(name, f"f{{a:~{inner}~}}") == {"a": inner}


@every
@pytest.mark.parametrize(
    "inside",
    [
        "ls{",
        "ls{pa",
        "ls{path:",
        "ls{path:~.",
        "ls{path:'.",
        "ls{path:'.\\",
        "ls{path:~.~,",
        "ls{all:tru",
        "ls{path:{a:~x~",
        "ls{path:{a:~x}",
    ],
)
def test_a_call_that_is_cut_off_is_marked_so(name: str, inside: str) -> None:
    heard = hear(get_dialect(name), frame(name, inside).removesuffix(TOKENS[name][1]))
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", True)]
    assert heard.text == ""


@every
@pytest.mark.parametrize("inside", ["ls{path:~.~}", "ls{path:~.~", "ls{path:{a:1}"])
def test_a_call_counts_without_its_closing_if_its_last_value_is_closed(name: str, inside: str) -> None:
    heard = hear(get_dialect(name), frame(name, inside).removesuffix(TOKENS[name][1]))
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", False)]
    text = frame(name, "ls{}")
    for end in range(text.index("}") + 1, len(text)):
        assert hear(get_dialect(name), text[:end]).made == [("ls", {})]


@every
@pytest.mark.parametrize(
    "inside",
    ["ls{path}", "ls{path:1,,all:2}", "ls{path:[1}", "ls{path:[}", "ls{path:{a:1]}", "ls{path:" + "[" * 102 + "]" * 102 + "}"],
)
def test_a_call_that_makes_no_sense_is_passed_on_so_that_the_model_can_be_told(name: str, inside: str) -> None:
    heard = hear(get_dialect(name), f"{frame(name, inside)}{frame(name, 'ls{path:~.~}')}So.")
    assert heard.names == ["ls", "ls"]
    assert isinstance(read_object(heard.calls[0].text), JsonUnreadable)
    assert heard.text == "So."
    unclosed = hear(get_dialect(name), TOKENS[name][0] + "call:ls{path:[1}")
    assert [(call.name, call.cut) for call in unclosed.calls] == [("ls", True)]


@every
def test_a_tool_that_isnt_on_offer_counts_since_nobody_types_such_marks(name: str) -> None:
    for dialect in (get_dialect(name), get_dialect("auto")):
        for unknown in ("rm", "a.b-c"):
            assert hear(dialect, frame(name, unknown + "{a:1}")).names == [unknown]


@every
def test_prose_that_mentions_a_mark_stays(name: str) -> None:
    for text in (
        f"The {TOKENS[name][0]} tag",
        f"{TOKENS[name][0]}",
        f"{TOKENS[name][0]}call:ls and so",
        f"{TOKENS[name][0]}call:{{}}",
        "call:ls{}",
    ):
        for dialect in (get_dialect(name), get_dialect("auto")):
            assert untouched(hear(dialect, text), text)
    strict = TextDialect("strict", get_dialect(name).forms, "", get_dialect(name).spell, ear="strict")
    assert untouched(hear(strict, frame(name, "rm{}")), frame(name, "rm{}"))


@every
def test_an_empty_frame_and_a_second_closing_are_passed_over(name: str) -> None:
    opener, closer, _ = TOKENS[name]
    assert untouched(hear(get_dialect(name), f"{opener}{closer}So."), "So.")
    heard = hear(get_dialect(name), f"{frame(name, 'ls{}')}{closer}So.")
    assert (heard.made, heard.text) == ([("ls", {})], "So.")


def test_gemmas_thoughts_are_told_from_its_words() -> None:
    gemma = get_dialect("gemma4")
    call = frame("gemma4", "ls{}")
    heard = hear(gemma, f"<|channel>thought\nI think.<channel|>{call}")
    assert (heard.thinking, heard.text, heard.made) == ("I think.", "", [("ls", {})])
    assert hear(gemma, "<|channel>thought\n<channel|>Words.<|channel>thought\n<channel|>").text == "Words."
    assert hear(gemma, "<|channel><|channel>thought\nSo.<channel|>Words.").text == "Words."
    heard = hear(gemma, "I think.<channel|>Words.<turn|>")
    assert (heard.thinking, heard.text) == ("I think.", "Words.")


@every
def test_a_call_comes_out_as_soon_as_its_frame_is_closed(name: str) -> None:
    parser = get_dialect(name).parser(TOOLS)
    text = frame(name, "ls{path:~.~}")
    assert parser.feed(text[:-1]).calls == ()
    assert [call.name for call in parser.feed(text[-1]).calls] == ["ls"]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.text("~<|>\"'{}[]:,\\ "),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.text('~<|":, '), inner, max_size=3),
    max_leaves=8,
)


@every
@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=5), values, max_size=4), st.integers(0, 1000))
def test_any_arguments_come_back_as_they_were_spelled(name: str, given_arguments: dict[str, object], seed: int) -> None:
    marked = msgspec.json.decode(msgspec.json.encode(given_arguments).replace(b"~", msgspec.json.encode(TOKENS[name][2])[1:-1]))
    text = get_dialect(name).spell([Call("", "f", marked)])
    assert hear_pieces(get_dialect(name), cut_anyhow(text, seed)).made == [("f", marked)]
