"""What every dialect keeps to: calls come back as they were spelled, words as they were said, however the reply was cut."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct

from dialects.parsing import TOOLS, cut, cut_anyhow, hear_pieces
from properties import examples
from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.dialects import dialect_names, find_dialect, get_dialect
from treadle.dialects.forms import FencedForm, Form

NAMES = dialect_names()
WORDS = "Some words. "
# nothing but calls may be in the reply, or calls have to end it
ALONE = {"functionary_v32"}
LAST = {name for name in NAMES if all(isinstance(form, FencedForm) or form.place == "whole" for form in get_dialect(name).forms)}

_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=20)
    | st.text(alphabet="<>/&;{}[]()'\"\\`,:=|#-_ \nab1", max_size=12)
    | st.sampled_from(
        ["", " ", "\n", "1", "1.0", "true", "null", "None", "[1]", '{"a": 1}', "a, b=1", "</b>", "C:\\n", "é", "'", '"']
    ),
    "integer": st.integers() | st.integers(-(10**30), 10**30),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5),
    "boolean": st.booleans(),
    "array": st.lists(st.text("ab'\"\\ ,]", max_size=5) | st.integers(), max_size=3),
    "object": st.dictionaries(st.sampled_from("abc"), st.text("ab{}\"' ", max_size=5) | st.booleans() | st.none(), max_size=3),
}
_names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name not in {"all", "self", "user", "tool"})


class Said(Struct, frozen=True):
    """Tools, and calls of them."""

    tools: list[ToolSpec]
    calls: list[Call]


@st.composite
def said(draw: st.DrawFn) -> Said:
    tools = draw(st.lists(_tools(), min_size=1, max_size=3, unique_by=lambda tool: tool.name))
    calls = [draw(_calls(draw(st.sampled_from(tools)))) for _ in range(draw(st.integers(1, 3)))]
    return Said(tools, calls)


@st.composite
def _tools(draw: st.DrawFn) -> ToolSpec:
    kinds = draw(st.dictionaries(_names, st.sampled_from(sorted(_KINDS)), max_size=4))
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    return ToolSpec(draw(_names), "", {"type": "object", "properties": properties})


@st.composite
def _calls(draw: st.DrawFn, tool: ToolSpec) -> Call:
    keys = [key for key in tool.parameters["properties"] if draw(st.booleans())]
    return Call("", tool.name, {key: draw(_KINDS[tool.parameters["properties"][key]["type"]]) for key in keys})


@pytest.mark.parametrize("name", NAMES)
@examples(12)
@given(said=said(), seed=st.integers(0, 1000))
def test_calls_come_back_as_they_were_spelled_however_they_are_cut(name: str, said: Said, seed: int) -> None:
    dialect = get_dialect(name)
    spelled = dialect.spell(said.calls)
    heard = hear_pieces(dialect, cut_anyhow(spelled, seed), said.tools)
    assert heard.made == [(call.name, call.arguments) for call in said.calls], spelled
    assert heard.text.strip() == ""
    assert hear_pieces(dialect, [spelled], said.tools) == heard
    assert hear_pieces(dialect, cut(spelled, 1), said.tools) == heard


@pytest.mark.parametrize("name", sorted({*NAMES} - ALONE))
def test_the_words_around_calls_are_kept(name: str) -> None:
    dialect = get_dialect(name)
    calls = [Call("", "ls", {"path": "."}), Call("", "grep", {"pattern": "a", "max_count": 3})]
    after = "" if name in LAST else f"\n{WORDS}"
    text = f"{WORDS}\n{dialect.spell(calls)}{after}"
    for size in (1, 3, len(text)):
        heard = hear_pieces(dialect, cut(text, size))
        assert heard.made == [(call.name, call.arguments) for call in calls]
        assert heard.text.split() == (WORDS + after).split()


@pytest.mark.parametrize("name", NAMES)
@examples(20)
@given(text=st.text(alphabet="abcdefgh .,!?-\n\té世🎯"), seed=st.integers(0, 1000))
@example(text="?\n ", seed=0)
def test_words_without_marks_come_back_as_they_were(name: str, text: str, seed: int) -> None:
    heard = hear_pieces(get_dialect(name), cut_anyhow(text, seed))
    assert (heard.thinking, heard.calls) == ("", ())
    assert heard.text == (text.lstrip() if name in ALONE else text)


@pytest.mark.parametrize("name", NAMES)
@examples(20)
@given(data=st.data(), seed=st.integers(0, 1000), reasoning_open=st.sampled_from([True, False, None]))
def test_it_makes_no_difference_how_a_mess_is_cut(name: str, data: st.DataObject, seed: int, reasoning_open: bool | None) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(scraps(name)), max_size=12)))
    whole = hear_pieces(get_dialect(name), [text], TOOLS, reasoning_open)
    for pieces in (cut(text, 1), cut(text, 3), cut_anyhow(text, seed)):
        assert hear_pieces(get_dialect(name), pieces, TOOLS, reasoning_open) == whole


def scraps(name: str) -> list[str]:
    """What replies in a dialect are made of, whole and broken."""
    dialect = get_dialect(name)
    spelled = dialect.spell([Call("", "ls", {"path": "."}), Call("", "search", {"query": "é", "limit": 3, "tags": ["a"]})])
    parts = [spelled[: len(spelled) // 3], spelled[len(spelled) // 3 : len(spelled) // 2], spelled[len(spelled) // 2 :]]
    marks = [mark for form in dialect.forms if isinstance(form, Form) for mark in (*form.marks, form.close) if mark]
    thoughts = [mark for thought in dialect.thoughts for mark in (thought.open, thought.close) if mark]
    return [
        spelled,
        *parts,
        *marks,
        *thoughts,
        *dialect.noise,
        "<think>",
        "</think>",
        "```\n",
        "\n",
        " ",
        "Words. ",
        "ls",
        '"',
        "{",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_characters_touched_grow_with_the_reply_and_no_faster(name: str) -> None:
    dialect = get_dialect(name)
    spelled = dialect.spell([Call("", "ls", {"path": "."})])
    for before in ("", spelled[: len(spelled) // 3], spelled[: len(spelled) // 2], spelled[: -len(spelled) // 4]):
        for unit in {*scraps(name)[:12], "a", "<", "\\", "{", "\n"}:
            assert touched(name, before, unit, 600) <= 2.6 * touched(name, before, unit, 300) + 200, (before, unit)


def touched(name: str, before: str, unit: str, length: int) -> int:
    parser = get_dialect(name).parser(TOOLS)
    for piece in cut((before + unit * length)[:length], 8):
        parser.feed(piece)
    parser.close()
    return parser.touched


@pytest.mark.parametrize("name", NAMES)
def test_what_is_taught_is_what_is_heard(name: str) -> None:
    dialect = get_dialect(name)
    told = dialect.explain(TOOLS).replace("TOOL", "ls").replace("ARGUMENT", "path").replace("VALUE", ".")
    assert hear_pieces(dialect, [dialect.spell([Call("", "ls", {"path": "."})])]).made == [("ls", {"path": "."})]
    assert "ls" in told.partition("\n\n")[2]


def test_a_name_that_isnt_there_is_none() -> None:
    assert find_dialect("klingon") is None
