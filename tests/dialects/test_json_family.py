"""What all dialects have in common that write arguments as JSON."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dialects.parsing import TOOLS, cut_anyhow, hear, hear_pieces
from properties import examples
from treadle.core.calls import Call
from treadle.dialects import dialect_names, get_dialect
from treadle.dialects.dialect import TextDialect

WHOLE = ("bare_json", "json_array", "own_json_thoughts")  # a call has to end the reply
FREE = (
    "apertus_json",
    "cohere_r_plus_action",
    "deepseek_v3",
    "deepseek_v31",
    "ernie45_json",
    "firefunction",
    "functionary_v31",
    "granite20b_json",
    "granite3_json",
    "hermes_json",
    "hermes_json_granite4",
    "internlm2_json",
    "kimi_k2",
    "llama3_json",
    "longcat_json",
    "mistral",
    "nemotron_v2_toolcall",
    "phi4mini_json",
    "tool_calls_json_array",
    "xlam_json",
)
FAMILY = (*FREE, *WHOLE, "functionary_v32")
LS = ("ls", {"path": "."})
GREP = ("grep", {"pattern": "a b", "max_count": 3})

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def dialect(name: str) -> TextDialect:
    found = get_dialect(name)
    assert isinstance(found, TextDialect)
    return found


def spelled(name: str, *calls: tuple[str, object]) -> str:
    return get_dialect(name).spell([Call("", tool, msgspec.convert(arguments, dict)) for tool, arguments in calls])


def test_they_are_all_there() -> None:
    assert set(FAMILY) <= set(dialect_names())


@pytest.mark.parametrize("name", FAMILY)
def test_a_call_is_heard_and_not_shown(name: str) -> None:
    heard = hear(get_dialect(name), spelled(name, LS))
    assert (heard.made, heard.text.strip(), heard.thinking) == ([LS], "", "")


@pytest.mark.parametrize("name", FAMILY)
def test_several_calls_are_heard_in_their_order(name: str) -> None:
    heard = hear(get_dialect(name), spelled(name, LS, GREP, LS))
    assert (heard.made, heard.text.strip()) == ([LS, GREP, LS], "")


@pytest.mark.parametrize("name", FAMILY)
def test_no_calls_are_spelled_as_nothing_to_call(name: str) -> None:
    assert hear(get_dialect(name), spelled(name)).calls == ()


@pytest.mark.parametrize("name", FAMILY)
def test_a_call_may_have_no_arguments(name: str) -> None:
    assert hear(get_dialect(name), spelled(name, ("ls", {}))).made == [("ls", {})]


@pytest.mark.parametrize("name", FAMILY)
@examples(10)
@given(several=st.lists(st.dictionaries(st.text(), values, max_size=3), min_size=1, max_size=3), seed=st.integers(0, 1000))
def test_any_arguments_come_through_however_the_text_is_cut(name: str, several: list[dict[str, object]], seed: int) -> None:
    calls = [("ls", one) for one in several]
    assert hear_pieces(get_dialect(name), cut_anyhow(spelled(name, *calls), seed)).made == calls


@pytest.mark.parametrize("name", FAMILY)
def test_its_own_marks_are_text_inside_a_value(name: str) -> None:
    for content in (spelled(name, LS), f"see {spelled(name, LS, GREP)} there", "<think>", "```\n{[", "北京 🎉 \u2028 \\ \" '"):
        call = ("write_file", {"path": "a", "content": content})
        assert hear(get_dialect(name), spelled(name, call)).made == [call]


@pytest.mark.parametrize("name", FAMILY)
def test_a_call_that_is_cut_off_inside_a_value_is_marked_so(name: str) -> None:
    text = spelled(name, LS, ("write_file", {"content": "abc def"}))
    heard = hear(get_dialect(name), text[: text.index(" def")])
    assert [(call.name, call.cut) for call in heard.calls] == [("ls", False), ("write_file", True)]


@pytest.mark.parametrize("name", FAMILY)
def test_a_call_counts_from_where_its_arguments_end(name: str) -> None:
    text = spelled(name, LS)
    for end in range(text.index('"."}') + 4, len(text)):
        heard = hear(get_dialect(name), text[:end])
        assert heard.made == [LS]
        assert heard.text.strip() in {"", text[end - len(heard.text.strip()) : end]}  # at most the beginning of a token


@pytest.mark.parametrize("name", FREE)
def test_words_around_calls_stay(name: str) -> None:
    heard = hear(get_dialect(name), f"I look.\n{spelled(name, LS)}\nNow the other: {spelled(name, GREP)}\nDone.")
    assert (heard.made, heard.text.split()) == ([LS, GREP], ["I", "look.", "Now", "the", "other:", "Done."])


@pytest.mark.parametrize("name", WHOLE)
def test_words_before_calls_stay(name: str) -> None:
    heard = hear(get_dialect(name), f"I look.\n{spelled(name, LS)}")
    assert (heard.made, heard.text) == ([LS], "I look.\n")


@pytest.mark.parametrize("name", FAMILY)
def test_names_that_arent_on_offer_are_let_through_where_asked_to(name: str) -> None:
    heard = hear(replace(dialect(name), forward=True), spelled(name, ("rm", {"all": True})))
    assert heard.made == ([] if name in {"bare_json", "json_array"} else [("rm", {"all": True})])
    assert hear(replace(dialect(name), forward=True), spelled(name, ("rm", {})), ()).made == [("rm", {})]


@pytest.mark.parametrize("name", FAMILY)
def test_words_are_words(name: str) -> None:
    for text in ("Hello, world!\nWhat's up?", "A list [1] and {x} at 3 < 4, functools; Action: none", ""):
        heard = hear(get_dialect(name), text)
        assert (heard.text, heard.calls) == (text, ())


@pytest.mark.parametrize("name", FAMILY)
def test_a_lesson_shows_how_a_call_is_written(name: str) -> None:
    lesson = get_dialect(name).explain(TOOLS)
    assert "TOOL" in lesson
    assert len(dialect(name).lesson) < 400


@pytest.mark.parametrize("name", FAMILY)
def test_a_call_comes_out_with_its_last_character(name: str) -> None:
    parser = get_dialect(name).parser(TOOLS)
    heard = [parser.feed(spelled(name, LS)), parser.feed("\n\n"), parser.close()]
    assert [call.name for one in heard for call in one.calls] == ["ls"]


@pytest.mark.parametrize("name", FREE)
def test_a_mark_alone_is_text(name: str) -> None:
    text = spelled(name, LS)
    mark = text[: text.index('{"name"')] if '{"name"' in text else text[: text.index('ls"' if '"ls"' in text else "ls")]
    for around in ("Some write {} before a call.", "{}", "It begins with {}\nand so on, at some length." + " So it is." * 40):
        heard = hear(get_dialect(name), around.format(mark))
        assert heard.calls == ()
        assert heard.text.split()[-1:] == around.format(mark).split()[-1:] or around == "{}"


@pytest.mark.parametrize("name", [name for name in FAMILY if name != "functionary_v32"])
def test_calls_are_heard_where_nobody_said_how_they_are_written(name: str) -> None:
    heard = hear(get_dialect("auto"), f"I look.\n{spelled(name, LS, GREP)}")
    assert (heard.made, heard.text.strip()) == ([LS, GREP], "I look.")


_SCRAPS = st.lists(
    st.sampled_from(
        [
            *(spelled(name, LS) for name in FAMILY),
            *(
                "[TOOL_CALLS]",
                "[ARGS]",
                "<tool_call>",
                "</tool_call>",
                "<|tool_call_begin|>",
                "<|tool_call_end|>",
                "functions.ls:0",
            ),
            *("<|python_tag|>", "functools", "Action:", "```", "```json\n", ">>>", "all\n", "ls\n", "<function=ls>", "</function>"),
            *(
                "<|tool_call|>",
                "<|action_start|>",
                "<|plugin|>",
                "<|tools_prefix|>",
                "<TOOLCALL>",
                "function",
                "[THINK]",
                "[/THINK]",
            ),
            *(
                "{",
                "}",
                "[",
                "]",
                '"',
                '{"name": "ls", "arguments": {',
                '"ls": {',
                " ",
                "\n",
                ";",
                "a",
                "So. ",
                "<think>",
                "</think>",
            ),
        ]
    ),
    max_size=8,
)


@pytest.mark.parametrize("name", FAMILY)
@examples(25)
@given(scraps=_SCRAPS)
def test_it_makes_no_difference_how_a_reply_is_cut(name: str, scraps: list[str]) -> None:
    hear(replace(dialect(name), forward=True), "".join(scraps))
