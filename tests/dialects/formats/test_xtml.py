"""Kimi K3's elements, which say their types."""

import pytest

from dialects.parsing import hear
from treadle.core.calls import Written
from treadle.dialects import auto_dialect, get_dialect

KIMI, AUTO = get_dialect("kimi_k3_xtml"), auto_dialect(strict=False)


def element(name: str, body: str, **attributes: str) -> str:
    said = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<|open|>{name}{said}<|sep|>{body}<|close|>{name}<|sep|>"


def argument(key: str, value: str, kind: str = "string") -> str:
    return element("argument", value, key=key, type=kind)


def call(*arguments: str, tool: str = "ls") -> str:
    return element("call", "".join(arguments), tool=tool, index="1")


LS = call(argument("path", "."))


@pytest.mark.parametrize("dialect", [KIMI, AUTO])
def test_calls_words_and_thinking_are_elements(dialect: object) -> None:
    tools = element("tools", f"\n{LS}\n{call(tool='grep')} and so on")
    text = element("think", "hm") + element("response", "So.") + tools + "<|close|>message<|sep|>"
    heard = hear(dialect, text)
    assert (heard.thinking, heard.text, heard.made) == ("hm", "So.", [("ls", {"path": "."}), ("grep", {})])


def test_a_thought_may_have_begun_in_the_prompt() -> None:
    for opened in (True, None):
        heard = hear(KIMI, "hm<|close|>think<|sep|>" + element("response", "So."), reasoning_open=opened)
        assert (heard.thinking, heard.text) == ("hm", "So.")


def test_thinking_ends_where_words_begin() -> None:
    heard = hear(KIMI, "<|open|>think<|sep|>hm" + element("response", "So."))
    assert (heard.thinking, heard.text) == ("hm", "So.")


def test_values_have_the_type_they_say() -> None:
    given = {"a": ("1", "string"), "b": ("1", "number"), "c": ("[1]", "array"), "d": ("null", "null"), "path": ("oh", "number")}
    heard = hear(
        KIMI, call(*(argument(key, *one) for key, one in given.items()), '<|open|>argument key="e"<|sep|>2<|close|>argument<|sep|>')
    )
    assert heard.made == [("ls", {"a": "1", "b": 1, "c": [1], "d": None, "path": "oh", "e": 2})]


def test_attributes_are_escaped_and_bodies_are_not() -> None:
    heard = hear(KIMI, call(argument("a&lt;b&amp;c", "&amp; <b>"), tool="x&quot;y"))
    assert heard.made == [('x"y', {"a<b&c": "&amp; <b>"})]


def test_a_call_without_its_tools_element_counts_too() -> None:
    assert hear(KIMI, f"So.{LS}").made == [("ls", {"path": "."})]
    assert hear(KIMI, f"<|open|>tools<|sep|>{LS}").made == [("ls", {"path": "."})]
    assert hear(KIMI, f"<|open|>tools<|sep|>{LS.removesuffix('<|close|>call<|sep|>')}{LS}").made == [("ls", {"path": "."})] * 2


def test_space_in_a_tag_says_nothing() -> None:
    assert hear(KIMI, "<|open|> response <|sep|>So.<|close|> response <|sep|>").text == "So."


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<|open|>tools<|sep|><|open|>call tool="ls" index="1"<|sep|>', [Written("", "ls", "{}", cut=True)]),
        ('<|open|>call tool="ls" ind', [Written("", "ls", "{}", cut=True)]),
        ('<|open|>call tool="ls"<|sep|><|open|>argument key="path" type="string"<|sep|>.', [Written("", "ls", "{}", cut=True)]),
        ('<|open|>call tool="ls"<|sep|><|open|>argument key="pa', [Written("", "ls", "{}", cut=True)]),
        ("<|open|>tools<|sep|>", []),
        ("<|open|>", []),
        ("<|open|>tools<|sep|><|open|>", []),
    ],
)
def test_what_was_cut_off_is_marked_so_and_no_words(text: str, calls: list[Written]) -> None:
    heard = hear(KIMI, f"So.{text}")
    assert (heard.text, list(heard.calls)) == ("So.", calls)


def test_a_mark_alone_is_words() -> None:
    text = "the <|open|> token " + "and so on " * 120
    assert hear(AUTO, text).text == text


def test_a_tag_inside_tools_has_an_end_too() -> None:
    assert hear(KIMI, f"<|open|>tools<|sep|><|open|>{'x' * 1200}{LS}").made == [("ls", {"path": "."})]


def test_tools_that_arent_on_offer_are_called_too_but_not_for_the_strict() -> None:
    assert hear(AUTO, call(tool="rm")).made == [("rm", {})]
    assert hear(auto_dialect(strict=True), call(tool="rm")).calls == ()
