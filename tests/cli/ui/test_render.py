import json
import re

from hypothesis import given
from hypothesis import strategies as st

from treadle.cli.ui.render import (
    StreamCleaner,
    clean_for_terminal,
    display_width,
    fit_columns,
    fit_lines,
    fold_line,
    format_call,
    format_count,
    format_seconds,
    format_table,
    format_time,
    to_one_line,
    to_terminal_json,
)

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

SEQUENCES = [
    "\x1b[31m",
    "\x1b[2J\x1b[1;1H",
    "\x9b31m",
    "\x1b]0;another title\x07",
    "\x1b]8;;https://example.org\x1b\\",
    "\x9d52;c;aGVsbG8=\x9c",
    "\x1bP+q544e\x1b\\",
    "\x1b(0",
    "\x1bc",
]


def test_words_lose_escape_sequences_whole():
    for sequence in SEQUENCES:
        assert clean_for_terminal(f"before{sequence}after") == "beforeafter"


def test_words_lose_control_characters_and_overrides_of_direction():
    assert clean_for_terminal("a\x00b\x08c\rd\x7fe\x85f\u202eg\u2066h\x1b") == "abcdefgh"


def test_words_keep_lines_tabs_and_every_script():
    text = "one\n\ttwo\n\u65e5\u672c\u8a9e \u05e9\u05dc\u05d5\u05dd \U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert clean_for_terminal(text) == text


def test_half_a_surrogate_pair_is_shown_as_unknown():
    assert clean_for_terminal("a\ud800b\n") == "a\ufffdb\n"


@given(st.text(alphabet=st.characters(categories=None) | st.sampled_from("\x1b\x9b\x9d]\\[31m\x07;")))
def test_nothing_a_terminal_obeys_is_left(text):
    assert CONTROLS.search(clean_for_terminal(text)) is None


@given(st.lists(st.sampled_from([*SEQUENCES, "word", " ", "\n"])), st.integers(1, 5))
def test_a_stream_is_cleaned_like_the_whole_wherever_it_is_cut(pieces, size):
    whole = "".join(pieces)
    cleaner = StreamCleaner()
    streamed = "".join([cleaner.feed(whole[start : start + size]) for start in range(0, len(whole), size)])
    assert streamed == clean_for_terminal(whole)


def test_a_sequence_that_never_ends_is_not_held_back_for_ever():
    cleaner = StreamCleaner()
    shown = "".join([cleaner.feed("\x1b]0;"), *[cleaner.feed("x" * 1000) for _ in range(10)]])
    assert shown.count("x") > 5000
    assert "\x1b" not in shown


def test_json_shows_what_cannot_be_seen_and_reads_back_the_same():
    value = {"path": "safe\u202egpj.exe", "zero": "\u200b", "c1": "\x9b2J", "tag": "\U000e0041", "esc": "\x1b[2J"}
    text = to_terminal_json(value)
    assert text.isascii()
    assert "\\u202e" in text
    assert "\\udb40\\udc41" in text
    assert json.loads(text) == value


def test_json_of_half_a_surrogate_pair_reads_back_the_same():
    assert json.loads(to_terminal_json({"a": "\ud800"})) == {"a": "\ud800"}


def test_json_can_be_laid_out():
    assert to_terminal_json({"a": [1]}, indent=2) == '{\n  "a": [\n    1\n  ]\n}'


def test_a_line_is_cut_to_its_width():
    assert fit_columns("abcdef", 6) == "abcdef"
    assert fit_columns("abcdefg", 6) == "abcde…"
    assert to_one_line("a\n\n b  c", 20) == "a b c"


def test_wide_characters_take_two_columns_and_accents_none():
    assert display_width("\u65e5\u672c") == 4
    assert display_width("e\u0301") == 1
    assert fit_columns("\u65e5\u672c\u8a9e", 5) == "\u65e5\u672c…"
    assert fit_columns("\u65e5\u672c", 4) == "\u65e5\u672c"


def test_a_call_is_one_line_with_long_values_cut():
    assert format_call("stock", {"item": "A-113", "count": 2}) == 'stock(item="A-113", count=2)'
    assert len(format_call("write", {"text": "x" * 5000, "more": ["y" * 5000]})) <= 100
    assert format_call("write", {"text": "x" * 50, "more": ["y" * 50]}) == f'write(text="{"x" * 37}…", more=["{"y" * 36}…])'
    assert format_call("say", {"text": "a\n\u202eb"}) == 'say(text="a\\n\\u202eb")'


def test_of_several_lines_the_first_is_shown_and_how_many_more_there_are():
    assert fit_lines("one a\n  two\n", 30) == "one a [1 more line]"
    assert fit_lines("1|def price(count):\n2|    return count", 60) == "1|def price(count): [1 more line]"
    assert fit_lines("one a\n\ntwo b\nthree c and d\n", 20) == "one a [2 more lines]"
    assert fit_lines("a long first line\ntwo", 20) == "a lon… [1 more line]"
    assert fit_lines("a line without an end", 20) == "a line without an e…"
    assert fit_lines('{\n  "a": "a long value"\n}', 20) == '{ "a": "a long valu…'
    assert fit_lines("", 20) == ""


def test_a_line_is_folded_behind_blanks_and_a_long_word_anywhere():
    assert fold_line("one two three", 8, "  ") == ["one two ", "  three"]
    assert fold_line("abcdefghij", 5, " ") == ["abcde", " fghi", " j"]
    assert fold_line("  indented text", 11, "    ") == ["  indented ", "    text"]
    assert fold_line("\u65e5\u672c\u8a9e", 4) == ["\u65e5\u672c", "\u8a9e"]
    assert fold_line("as it is, however long", None, "  ") == ["as it is, however long"]
    assert fold_line("", 5) == [""]


def test_columns_are_aligned_and_the_last_one_is_cut():
    assert format_table([("A", "B"), ("long", "word word")], 10) == ["A     B", "long  wor…"]
    assert format_table([("\u65e5", "x"), ("abc", "y")]) == ["\u65e5   x", "abc  y"]
    assert format_table([]) == []


def test_the_last_column_is_kept_where_there_is_little_room():
    rows = [("RUN", "WHEN", "AGENT", "TITLE"), ("5f0c2a9b", "2026-11-17 09:38:56", "ask openai:gpt-5-mini", "The dentist's notes")]
    assert format_table(rows, 70)[1] == "5f0c2a9b  2026-11-17 09:38:56  ask openai:gpt-5-mini  The dentist's n…"
    assert format_table(rows, 60)[1] == "5f0c2a9b  2026-11-17 09:38:56  ask openai…  The dentist's n…"
    assert format_table(rows, 48)[1] == "5f0c2a9b  2026-11-17…  The dentist's notes"
    assert [format_table(rows, 40)[0].split(), format_table(rows, 30)[0].split()] == [["RUN", "WHEN", "TITLE"], ["RUN", "TITLE"]]


def test_numbers_are_worded():
    assert format_count(1, "call") == "1 call"
    assert format_count(1200, "call") == "1,200 calls"
    assert format_count(2, "entry", "entries") == "2 entries"
    assert format_seconds(0.0123) == "12 ms"
    assert format_seconds(2.34) == "2.3 s"
    assert format_time(0) == "-"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", format_time(1.7e9))
