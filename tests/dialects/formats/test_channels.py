"""Messages with headers: Harmony's channels and Muse's."""

import pytest

from dialects.parsing import TOOLS, hear, tool
from treadle.core.calls import Written
from treadle.dialects import auto_dialect, get_dialect

HARMONY, MUSE, AUTO = get_dialect("harmony"), get_dialect("muse_glimmer_atem"), auto_dialect(strict=False)
LS = [("ls", {"path": "."})]
START = "<|start|>assistant"
ARGUMENTS = '{"path": "."}'


def atem(*parameters: str, name: str = "ls") -> str:
    lines = "".join(f"{parameter}\n" for parameter in parameters)
    return f'<atem:function_calls>\n<atem:invoke name="{name}">\n{lines}</atem:invoke>\n</atem:function_calls>'


def parameter(key: str, value: str) -> str:
    return f'<atem:parameter name="{key}">{value}</atem:parameter>'


PATH = parameter("path", ".")


@pytest.mark.parametrize("dialect", [HARMONY, AUTO])
@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>commentary to=functions.ls <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.ls<|message|>",
        "<|channel|>analysis to=functions.ls code<|message|>",
        "<|channel|>commentary to=ls<|message|>",
        "to=functions.ls<|channel|>commentary<|message|>",
        " to=functions.ls<|channel|>analysis <|constrain|>json<|message|>",
        f"{START} to=functions.ls<|channel|>commentary<|message|>",
        f"{START}<|channel|>commentary to=functions.ls<|constrain|>json<|message|>",
        "<|channel|>commentary to=assistant<|channel|>commentary to=functions.ls<|message|>",
        "<|channel|>commentary to=functions.ls<|channel|>commentary json<|message|>",
        "<|channel|>??commentary to=functions.ls<|message|>",
        "<|channel|>commentary to=functions.ls <|constrain|>json",
        "<|channel|>commentary to=functions.ls ",
    ],
)
def test_a_message_to_a_tool_is_a_call_however_its_header_is_written(header: str, dialect: object) -> None:
    for end in ("", "<|call|>", "<|end|>", "\n"):
        heard = hear(dialect, header + ARGUMENTS + end)
        assert (heard.made, heard.text, heard.thinking) == (LS, "", "")


def test_analysis_is_thinking_and_everything_else_is_words() -> None:
    text = (
        f"<|channel|>analysis<|message|>hm {{<|end|>{START}<|channel|>commentary<|message|>I look.<|end|>"
        f"{START}<|channel|>commentary to=functions.ls<|message|>{ARGUMENTS}<|call|>"
        f"{START}<|channel|>final <|constrain|>json<|message|>[1]<|return|>"
    )
    for dialect in (HARMONY, AUTO):
        heard = hear(dialect, text)
        assert (heard.thinking, heard.text, heard.made) == ("hm {", "I look.[1]", LS)


@pytest.mark.parametrize("end", ["<|start|>assistant", "<|return|>", "<|call|>", ""])
def test_thinking_ends_with_the_next_message_too(end: str) -> None:
    for header in ("", START, "<|channel|>commentary to=assistant"):
        heard = hear(HARMONY, f"{header}<|channel|>analysis<|message|>hm{end}<|channel|>final<|message|>So.")
        assert (heard.thinking, heard.text) == ("hm", "So.")


def test_a_thought_that_the_prompt_opened_is_closed_by_its_message() -> None:
    heard = hear(HARMONY, f"hm<|end|>{START}<|channel|>final<|message|>So.", reasoning_open=True)
    assert (heard.thinking, heard.text) == ("hm", "So.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<|channel|>finalSo.<|return|>", "So."),
        ("<|channel|>??<|end|><|start|>assistant<|channel|>final<|message|>So.", "??So."),
        ("<|channel|>commentary to=assistant<|end|>So.", "So."),
        ("<|channel|>Hello there", "Hello there"),
        ("<|channel|>Hello {there}<|end|>", "Hello {there}"),
        ("<|channel|>anal", ""),
        ("<|start|>assistant", ""),
        ("<|start|>user<|message|>So.", "So."),
        ("<|start|>Hello<|end|>", "Hello"),
        ("<|channel|>unknown<|message|>So.<|end|>", "So."),
        ("So.<|end|> Well.", "So. Well."),
        ("`<|start|>` begins", "`<|start|>` begins"),
    ],
)
def test_of_a_header_that_makes_no_sense_the_words_are_kept(text: str, words: str) -> None:
    heard = hear(HARMONY, text)
    assert (heard.text, heard.calls, heard.thinking) == (words, (), "")


def test_a_header_has_an_end() -> None:
    for text in ("the <|start|> token " + "and so on " * 40, "the <|channel|> token " + "{" * 400):
        assert hear(AUTO, text).text == text


@pytest.mark.parametrize("text", ["to=x is the syntax.", "to= is", "to=a<b is false", "to=ls", "to=ls <", "goto=" + "x" * 200])
def test_what_only_looks_like_an_address_is_words(text: str) -> None:
    for dialect in (HARMONY, MUSE, AUTO):
        assert (hear(dialect, text).text, hear(dialect, text).calls) == (text, ())


def test_arguments_that_are_no_json_are_passed_on_so_that_the_model_is_told() -> None:
    heard = hear(HARMONY, f"<|channel|>commentary to=python <|constrain|>code<|message|>print('hi')<|call|>{START}")
    assert heard.calls == (Written("", "python", "print('hi')"),)
    heard = hear(HARMONY, f"{START} to=ls<|channel|>commentary<|message|>{{not json<|call|><|channel|>final<|message|>So.")
    assert (heard.calls, heard.text) == ((Written("", "ls", "{not json"),), "So.")


def test_no_arguments_are_none() -> None:
    assert hear(HARMONY, "<|channel|>commentary to=functions.ls<|message|><|call|>").made == [("ls", {})]


@pytest.mark.parametrize("cut", ["", "<|channel|>com", "<|message|>{", '<|message|>{"path": "'])
def test_a_call_that_is_cut_off_is_marked_so(cut: str) -> None:
    (call,) = hear(HARMONY, f"<|channel|>commentary to=functions.ls {cut}").calls
    assert (call.name, call.cut) == ("ls", True)


def test_the_marks_may_be_inside_a_string() -> None:
    text = 'commentary to=functions.ls<|message|>{"path": "<|call|> <|start|>assistant"}<|call|>'
    assert hear(HARMONY, f"<|channel|>{text}").made == [("ls", {"path": "<|call|> <|start|>assistant"})]


def test_tools_that_arent_on_offer_are_called_too_but_not_for_the_strict() -> None:
    text = "<|channel|>commentary to=functions.rm<|message|>{}<|call|>"
    for dialect in (HARMONY, AUTO):
        assert hear(dialect, text).made == [("rm", {})]
    assert hear(auto_dialect(strict=True), text).calls == ()
    assert hear(auto_dialect(strict=True), f"{START} to=rm<|message|>{atem(name='rm')}").calls == ()


@pytest.mark.parametrize("dialect", [MUSE, AUTO])
def test_a_message_with_elements_is_a_call(dialect: object) -> None:
    for header in (" to=ls<|message|>", f"{START} to=ls<|message|>", f"{START} to=ls.ls<|message|>", "to=ls<|message|>\n"):
        for end in ("", "<|eom|>", "<|eot|>", f"<|eom|>{START} to=user<|message|>So."):
            heard = hear(dialect, header + atem(PATH) + end)
            assert (heard.made, heard.text) == (LS, "So." if "So." in end else "")


def test_messages_to_oneself_are_thinking_whatever_they_quote() -> None:
    text = f" to=self<|message|>I could {atem(PATH)} but<|eom|>\n{START} to=user<|message|>No.<|eot|>"
    heard = hear(MUSE, text)
    assert (heard.thinking, heard.text, heard.calls) == (f"I could {atem(PATH)} but", "No.", ())
    heard = hear(MUSE, f"{START} to=self<|message|>so {atem(PATH)}")
    assert (heard.calls, heard.text) == ((), "")


def test_in_a_message_to_the_user_nothing_counts() -> None:
    quoted = f"Write:\n{START} to=ls<|message|>{atem(PATH)}<|st"
    heard = hear(MUSE, f" to=user<|message|>{quoted}")
    assert (heard.text, heard.calls) == (quoted, ())
    heard = hear(MUSE, f" to=user<|message|>{quoted}<|eom|>{START} to=ls<|message|>{atem(PATH)}")
    assert (heard.text, heard.made) == (quoted, LS)


def test_elements_without_a_header_are_words() -> None:
    assert hear(MUSE, atem(PATH)).text == atem(PATH)


def test_values_are_typed_by_the_schema_and_without_one_by_what_they_are() -> None:
    tools = (*TOOLS, tool("set", text="string", size={"enum": ["1", "2"]}, count="integer"))
    given = {"text": "1", "size": "1", "count": "2", "a": "true", "b": "null", "c": "[1]", "d": "so\n", "e": "1.50", "f": '"1"'}
    text = f"{START} to=set<|message|>{atem(*(parameter(*one) for one in given.items()), name='set')}"
    wanted = {"text": "1", "size": "1", "count": 2, "a": True, "b": None, "c": [1], "d": "so\n", "e": 1.5, "f": "1"}
    assert hear(MUSE, text, tools).made == [("set", wanted)]


def test_a_value_ends_where_something_follows_that_may() -> None:
    value = "a </atem:parameter> b <|eot|> <|start|>assistant to=user<|message|>"
    assert hear(MUSE, f" to=ls<|message|>{atem(parameter('path', value))}<|eot|>").made == [("ls", {"path": value})]


@pytest.mark.parametrize("name", ["ls<|message|>", "ls<|message|><|message|>", "l<|message|>s"])
def test_names_are_rid_of_tokens_that_leaked_into_them(name: str) -> None:
    assert hear(MUSE, f" to=ls<|message|>{atem(PATH, name=name)}").made == LS
    opened = f'<atem:function_calls><atem:invoke name="{name}{PATH}</atem:invoke></atem:function_calls>'
    assert hear(MUSE, f" to=ls<|message|>{opened}").made == LS


def test_a_doubled_name_is_halved_unless_it_is_a_tool() -> None:
    text = f"{START} to=a.a<|message|>{atem(name='a.a')}"
    assert hear(MUSE, text, [tool("a")]).names == ["a"]
    assert hear(MUSE, text, ()).names == ["a"]
    assert hear(MUSE, text, [tool("a.a"), tool("a")]).names == ["a.a"]
    assert hear(MUSE, text, [tool("b")]).names == ["a.a"]


def test_several_calls_may_be_in_one_message() -> None:
    twice = atem(PATH).replace("</atem:invoke>\n", f'</atem:invoke>\n<atem:invoke name="grep">{PATH}</atem:invoke>')
    heard = hear(MUSE, f" to=ls<|message|>{twice}<|eot|>")
    assert heard.made == [*LS, ("grep", {"path": "."})]


def test_no_parameters_are_no_arguments() -> None:
    assert hear(MUSE, f" to=ls<|message|>{atem()}").made == [("ls", {})]


@pytest.mark.parametrize("back", range(1, 120, 3))
def test_a_message_that_is_cut_counts_once_its_last_value_is_closed(back: int) -> None:
    text = f" to=ls<|message|>{atem(PATH)}"[:-back]
    heard = hear(MUSE, text)
    closed = "</atem:parameter>" in text
    assert [call.cut for call in heard.calls] == ([not closed] if "<|message|>" in text else [])
    assert "atem" not in heard.text


def test_a_block_without_calls_is_words() -> None:
    text = "<atem:function_calls>nothing</atem:function_calls>"
    assert hear(MUSE, f" to=ls<|message|>{text}").calls == ()
