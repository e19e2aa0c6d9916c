"""Where a call counts and where it doesn't, whatever its form; and what becomes of everything that is no call."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dialects.parsing import TOOLS, cut, cut_anyhow, hear, hear_pieces
from properties import examples
from treadle.core.seams import Heard
from treadle.dialects import auto_dialect, get_dialect
from treadle.dialects.formats.auto import AUTO
from treadle.dialects.scanner import MAX_HELD

LOOSE, STRICT = auto_dialect(strict=False), auto_dialect(strict=True)
TAGGED = '<tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>'
ELEMENTS = "<tool_use><tool>ls</tool><args><path>.</path></args></tool_use>"
BARE = '{"name": "ls", "arguments": {"path": "."}}'
THOUGHTS = '{"thoughts": "hm", "tool_calls": [{"tool": "ls", "args": {"path": "."}}]}'
FENCED = f"```json\n{BARE}\n```"
COMMAND = "```bash\nls .\n```"
FORMS = (TAGGED, ELEMENTS, BARE, THOUGHTS, FENCED, COMMAND)
CALL = [("ls", {"path": "."})]

MARKUP = (
    "<think>",
    "</think>",
    "```",
    "```json",
    "```bash\n",
    "`",
    "~~~",
    '"',
    "> ",
    "{",
    "[",
    "<",
    "</tool_call>",
    "<tool_call>",
    "<tool_use>",
    "```xml\n",
)
scraps = st.lists(st.sampled_from([*FORMS, *MARKUP, "\n", " ", "Words. ", "word", "ls "]) | st.text(max_size=5), max_size=12).map(
    "".join
)
plain = st.text(alphabet=st.characters(exclude_characters="<`~{[", exclude_categories=("Cs",)))


@pytest.mark.parametrize("dialect", [LOOSE, STRICT], ids=["loose", "strict"])
@pytest.mark.parametrize("form", FORMS)
def test_a_reply_that_is_a_call_is_one_in_any_form(dialect: object, form: str) -> None:
    for text in (form, f"\n{form}\n", f"<think>so</think>\n\n{form}"):
        heard = hear(dialect, text)
        assert heard.made == CALL
        assert heard.text == ""


@examples(100)
@given(scraps, st.integers(0, 1000), st.sampled_from(["open", "careful", "strict"]), st.sampled_from([True, False, None]))
def test_it_makes_no_difference_how_a_reply_is_cut(text: str, seed: int, ear: str, reasoning_open: bool | None) -> None:
    dialect = replace(AUTO, ear=ear)
    whole = hear_pieces(dialect, [text], TOOLS, reasoning_open)
    for pieces in (cut(text, 1), cut(text, 2), cut(text, 3), cut(text, 7), cut_anyhow(text, seed)):
        assert hear_pieces(dialect, pieces, TOOLS, reasoning_open) == whole


@settings(deadline=None)
@given(plain, st.integers(0, 100))
def test_plain_words_come_out_as_they_went_in(text: str, seed: int) -> None:
    for dialect in (LOOSE, STRICT):
        assert hear_pieces(dialect, cut_anyhow(text, seed)).text == text


def says_something(text: str) -> bool:
    """Thinking isn't part of the answer, and a frame with nothing in it says nothing."""
    return "think>" not in text and not re.search(r"<tool_call>\s*</tool_call>", text)


@settings(deadline=None)
@given(scraps.filter(says_something), st.integers(0, 100))
def test_a_reply_without_calls_comes_out_as_it_went_in(text: str, seed: int) -> None:
    heard = hear_pieces(STRICT, cut_anyhow(text, seed), tools=())
    assert heard.calls == ()
    assert heard.text == text


def test_a_frame_with_nothing_in_it_says_nothing() -> None:
    for size in (1, 5, 30):
        heard = hear_pieces(STRICT, cut("Words.\n<tool_call></tool_call>", size))
        assert (heard.calls, heard.text.strip()) == ((), "Words.")


def test_plain_words_go_straight_through() -> None:
    parser = STRICT.parser(TOOLS)
    assert parser.feed("Hello") == Heard("Hello")
    assert parser.feed(" {there}\n") == Heard(" {there}\n")
    assert parser.close() == Heard()


@pytest.mark.parametrize("call", [TAGGED, ELEMENTS])
@pytest.mark.parametrize("before", ["", "I look.\n", "I look:\n  ", "`code`\n", "```\ncode\n```\n", "> quoted\n"])
def test_a_tag_at_the_start_of_a_line_counts_also_for_the_strict(before: str, call: str) -> None:
    for dialect in (LOOSE, STRICT):
        heard = hear(dialect, f"{before}{call}\nThen words.")
        assert heard.made == CALL
        assert heard.text == (f"{before}\nThen words.")


@pytest.mark.parametrize("call", [TAGGED, ELEMENTS])
@pytest.mark.parametrize(("before", "after"), [("Sure, I look.", ""), ("I look! ", " bye"), ("Go ", ""), ("Go: ", f"\n{TAGGED}")])
def test_a_tag_within_a_line_counts_after_a_sentence_or_where_it_ends_the_reply(before: str, after: str, call: str) -> None:
    assert hear(LOOSE, before + call + after).made[0] == CALL[0]
    assert call in hear(STRICT, before + call + after).text


@pytest.mark.parametrize("call", [TAGGED, ELEMENTS, BARE])
@pytest.mark.parametrize(
    "frame",
    [
        "You would write {} to list the files.",
        "Write `{}` then.",
        "Write `` `{} `` then.",
        'Write "{}" then.',
        'Write "so: {}',
        "> {}",
        "It is '{}'",
        "```\n{}\n```\nis a sample",
        "```xml\n{}\n```\nis a sample",
        "Write ```{}``` then.",
        "```{}``` then",
        "```python\nx = 1\n{}\n```",
        "```python\n{}\n   ```   ",
        "~~~\n{}\n~~~\nso",
        "~~~ `\n```python\n{}\n```\n",
        "````md\n```\n{}\n```\n````",
        "```python\n```not the end\n{}",
        "So:\n```json\n{} and more\n```",
    ],
)
def test_a_call_that_is_quoted_isnt_one(frame: str, call: str) -> None:
    text = frame.format(call)
    for dialect in (LOOSE, STRICT):
        heard = hear(dialect, text)
        assert heard.calls == ()
        assert heard.text == text


@pytest.mark.parametrize("frame", ["I look.\n{}", "{}\nSo.", "Go {}"])
@pytest.mark.parametrize("call", [BARE, FENCED, COMMAND])
def test_for_the_strict_what_has_no_tag_has_to_be_the_whole_reply(frame: str, call: str) -> None:
    text = frame.format(call)
    heard = hear(STRICT, text)
    assert (heard.text, heard.calls) == (text, ())


def test_a_doubtful_call_followed_by_a_sure_one_keeps_its_place() -> None:
    heard = hear(LOOSE, f"{FENCED}\n{TAGGED.replace('ls', 'grep')}\n")
    assert (heard.names, heard.text) == (["ls", "grep"], "")
    heard = hear(LOOSE, f"{FENCED}\n{TAGGED.replace('ls', 'grep')}\nSo.")
    assert (heard.names, heard.text) == (["grep"], f"{FENCED}\nSo.")


def test_names_that_arent_on_offer_count_where_they_are_to_be_forwarded() -> None:
    for form in (TAGGED, ELEMENTS, BARE, THOUGHTS, FENCED):
        assert hear(LOOSE, form, tools=()).calls == ()
        assert hear(replace(AUTO, forward=True), form, tools=()).made == CALL
    assert hear(replace(AUTO, forward=True), COMMAND, tools=()).calls == ()


@pytest.mark.parametrize(
    ("text", "thinking", "words"),
    [
        ("<think>so</think>Hello", "so", "Hello"),
        ("<think>\nso\n\nand so\n</think>\n\nHello\n", "so\n\nand so", "Hello\n"),
        ("<thinking>so</thinking> Hello", "so", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>a</think>\n<think>b</think>\nHello", "a\nb", "Hello"),
        ("Hello\n<think>so</think>\nagain", "so", "Hello\nagain"),
        ("<think>so", "so", ""),
        ("</think>Hello", "", "Hello"),
        ("  </think>\nHello", "", "Hello"),
        ("the <think> tag", "", "the <think> tag"),
        ("the `</think>` tag", "", "the `</think>` tag"),
        ("```\n<think>\n```", "", "```\n<think>\n```"),
        ("<think>say <thinking> and `</tool_call>`</think>Hello", "say <thinking> and `</tool_call>`", "Hello"),
    ],
)
def test_thinking_is_kept_apart(text: str, thinking: str, words: str) -> None:
    heard = hear(LOOSE, text)
    assert (heard.thinking, heard.text) == (thinking, words)


def test_the_strict_hear_thinking_only_before_words() -> None:
    assert hear(STRICT, "<think>so</think>Hello").thinking == "so"
    text = "They write\n<think>\nso\n</think>\n"
    assert hear(STRICT, text).text == text


def test_a_thought_that_the_prompt_opened_lasts_until_it_is_closed() -> None:
    for begin in ("", "<think>", "\n<think>\n"):
        heard = hear(LOOSE, f"{begin}I could\n{TAGGED}\nhm\n</think>\n\n{TAGGED}", reasoning_open=True)
        assert (heard.thinking, heard.made, heard.text) == (f"I could\n{TAGGED}\nhm", CALL, "")
    assert hear(LOOSE, "all of it", reasoning_open=True).thinking == "all of it"


def test_a_call_inside_a_thought_counts_only_where_the_thought_never_ends_but_in_it() -> None:
    assert hear(LOOSE, f"<think>I could\n{TAGGED}</think>No.").calls == ()
    assert hear(LOOSE, f"<think>I could\n{TAGGED}\nbut no").calls == ()
    assert hear(LOOSE, f"<think>I will\n{TAGGED}\n").made == CALL
    assert hear(LOOSE, f"<think>I will\n{TAGGED[:-30]}").calls == ()
    assert hear(STRICT, f"<think>I will\n{TAGGED}\n").calls == ()


@pytest.mark.parametrize(
    ("text", "opened", "thinking", "words"),
    [
        ("hm</think>So.", None, "hm", "So."),
        ("hm\n\n</think>\n\nSo.", None, "hm", "So."),
        ("hm <think>so</think> So.</think> Well.", None, "hm <think>so", "So.</think> Well."),
        ("hm</think>So.", True, "hm", "So."),
        ("hm</think>So.", False, "", "hm</think>So."),
        ("</think>So.", False, "", "</think>So."),
        ("</think>So.", None, "", "So."),
        ("<think>hm</think>So.", False, "hm", "So."),
        ("the `</think>` tag", None, "", "the `</think>` tag"),
        ("<think>hm</think>the </think> tag", None, "hm", "the </think> tag"),
        ("<think>hm</think></think>So.", None, "hm", "So."),
        (f"{TAGGED}\nthe </think> tag", None, "", "\nthe </think> tag"),
    ],
)
def test_a_thought_that_only_ends_began_in_the_prompt(text: str, opened: bool | None, thinking: str, words: str) -> None:
    heard = hear(LOOSE, text, reasoning_open=opened)
    assert (heard.thinking, heard.text) == (thinking, words)


def test_whoever_has_passed_words_on_is_told_that_they_were_thinking() -> None:
    parser = LOOSE.parser(TOOLS)
    assert parser.feed("hm, so ") == Heard("hm, so ")
    assert parser.feed("on</think>So.") == Heard("So.", "on", (), recant=True)
    parser = LOOSE.parser(TOOLS)
    parser.feed("hm")
    assert parser.feed("</think>") == Heard("", "", (), recant=True)


def test_the_strict_take_nothing_back() -> None:
    assert hear(STRICT, "hm</think>So.").text == "hm</think>So."


@pytest.mark.parametrize(
    ("opener", "closer"),
    [
        ("[THINK]", "[/THINK]"),
        ("<seed:think>", "</seed:think>"),
        ("<mm:think>", "</mm:think>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|channel>thought", "<channel|>"),
        ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
        ("<|channel|>analysis<|message|>", "<|end|>"),
        (" to=self<|message|>", "<|eom|>"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        ("<|content_thinking|>", "<|end_message|>"),
    ],
)
def test_auto_knows_all_frames_around_thinking(opener: str, closer: str) -> None:
    heard = hear(LOOSE, f"{opener}hm {{{closer}\n{TAGGED}So.")
    assert (heard.thinking, heard.made, heard.text) == ("hm {", CALL, "So.")
    heard = hear(LOOSE, f"hm {{{closer}\n{TAGGED}So.", reasoning_open=True)
    assert (heard.thinking, heard.made, heard.text) == ("hm {", CALL, "So.")


def test_a_thought_may_have_no_opener_at_all() -> None:
    heard = hear(LOOSE, "Here are my reasoning steps:\nhm\n[BEGIN FINAL RESPONSE]\nSo.")
    assert (heard.thinking, heard.text) == ("Here are my reasoning steps:\nhm", "So.")


def test_tokens_that_mean_nothing_are_left_out_by_dialects_that_name_them() -> None:
    dialect = replace(get_dialect("hermes"), noise=("<|im_end|>", "</s>"))
    assert hear(dialect, f"So.</s> {TAGGED}<|im_end|>\n").text == "So. "
    assert hear(get_dialect("hermes"), "So.</s><|im_end|>").text == "So.</s><|im_end|>"
    assert hear(LOOSE, f"So.<|im_end|>\n{TAGGED}</s>").text == "So.\n"
    assert hear(LOOSE, "<s>So.</s> the `<|im_end|>` token").text == "<s>So.</s> the `<|im_end|>` token"
    assert hear(STRICT, "So.<|im_end|>").text == "So.<|im_end|>"


def test_a_dialect_that_is_named_hears_its_frames_anywhere_but_in_code() -> None:
    for frame in ("You would write {} to list the files.", 'Write "so: {}', "> {}"):
        assert hear(get_dialect("hermes"), frame.format(TAGGED)).made == CALL
    for frame in ("Write `{}` then.", "```python\n{}\n```\nis code"):
        assert hear(get_dialect("hermes"), frame.format(TAGGED)).calls == ()


def test_a_tag_that_is_glued_to_a_word_counts() -> None:
    heard = hear(LOOSE, f"I look{TAGGED}and so on")
    assert (heard.made, heard.text) == (CALL, "I lookand so on")
    assert hear(LOOSE, "I look<tool_call>").text == "I look"
    assert hear(LOOSE, "I look <tool_call>").text == "I look <tool_call>"


def test_space_around_calls_isnt_text() -> None:
    assert hear(LOOSE, f"\n\n{TAGGED}\n\n{TAGGED}\n\n").text == ""
    assert hear(LOOSE, f"{TAGGED}\n\nSo.\n").text == "\n\nSo.\n"
    assert hear(LOOSE, " \n").text == " \n"
    assert hear(LOOSE, "").text == ""
    assert hear(LOOSE, "\n\nHello").text == "\n\nHello"


def test_whoever_holds_back_too_much_lets_go_and_stops_listening() -> None:
    text = f'<tool_call>{{"name": "ls", "arguments": {{"path": "{"a" * MAX_HELD}"}}}}</tool_call>\n{TAGGED}\n'
    for pieces in ([text], cut(text, 100_000)):
        heard = hear_pieces(LOOSE, pieces)
        assert (heard.text, heard.calls) == (text, ())


@pytest.mark.parametrize(
    "unit", [*FORMS, *MARKUP, "word ", "\\", "<tool_call>", "<tool_use><tool>", '{"name":', "\n```json\n{", "a\n"]
)
@pytest.mark.parametrize(
    "before",
    [
        "",
        "Words. ",
        '<tool_call>{"name": "ls", "arguments": {"path": "',
        "<tool_use><tool>ls</tool><args><path>",
        "```bash\nls '",
        "```python\n",
        "<think>",
        "[",
    ],
)
def test_the_characters_touched_grow_with_the_reply_and_no_faster(before: str, unit: str) -> None:
    def touched(length: int) -> int:
        parser = AUTO.parser(TOOLS)
        for piece in cut((before + unit * length)[:length], 4):
            parser.feed(piece)
        parser.close()
        return parser.touched

    assert touched(3000) <= 2.6 * touched(1500) + 200


def test_a_dialect_hears_its_own_form_only() -> None:
    assert hear(get_dialect("hermes"), ELEMENTS).text == ELEMENTS
    assert hear(get_dialect("xml"), TAGGED).text == TAGGED
    assert hear(get_dialect("bash"), FENCED).text == FENCED
    assert hear(get_dialect("json"), COMMAND).text == COMMAND
