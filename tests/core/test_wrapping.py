import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treadle.core.wrapping import WordWrapper, display_width, fit_columns, wrap_words

PROSE = "The engine, policy and approvals are real."


def test_lines_break_between_words():
    assert wrap_words(PROSE, 20) == "The engine, policy\nand approvals are\nreal."
    assert wrap_words(f"  {PROSE}", 20, "  ") == "  The engine, policy\n  and approvals are\n  real."
    assert wrap_words("one two\n\nthree four", 8) == "one two\n\nthree\nfour"


def test_without_a_width_nothing_is_broken():
    assert wrap_words(PROSE * 10, None) == PROSE * 10


def test_a_line_is_cut_to_its_columns():
    assert [fit_columns("abcdef", 6), fit_columns("abcdefg", 6)] == ["abcdef", "abcde…"]
    assert [fit_columns("\u65e5\u672c", 4), fit_columns("\u65e5\u672c\u8a9e", 5)] == ["\u65e5\u672c", "\u65e5\u672c…"]


def test_a_word_that_fits_no_line_stays_whole():
    assert wrap_words(f"see {'x' * 30} there", 20) == f"see\n{'x' * 30}\nthere"
    assert wrap_words("x" * 30, 20) == "x" * 30


CODE = (
    "```\na line of code that is long\n```",
    "~~~\nx\n~~~",
    "    a line of code that is long",
    "| a row | of a table | that is long |",
)


@pytest.mark.parametrize("code", CODE)
def test_code_and_tables_stay_as_they_are(code):
    assert wrap_words(f"{code}\n{PROSE}", 20) == f"{code}\n{wrap_words(PROSE, 20)}"


def test_wide_characters_take_two_columns():
    assert wrap_words("\u65e5\u672c \u65e5\u672c", 7) == "\u65e5\u672c\n\u65e5\u672c"
    assert display_width("e\u0301\u65e5") == 3


def test_a_word_that_grows_too_long_is_moved_to_the_next_line():
    wrapper = WordWrapper(11)
    shown = [wrapper.feed(piece) for piece in ("one two ", "thr", "ee", " four")]
    assert shown == ["one two", " thr", "\x1b[3D\x1b[K\nthree", " four"]


def test_every_chunk_is_shown_at_once():
    wrapper = WordWrapper(40)
    assert "".join(map(wrapper.feed, "so it is")) == "so it is"


def test_a_line_that_was_ended_elsewhere_begins_anew():
    wrapper = WordWrapper(10)
    wrapper.feed("one two")
    wrapper.begin_line()
    assert wrapper.feed("three four") == "three four"


@examples(100)
@given(st.text(alphabet="ab \n\u65e5", max_size=200), st.integers(1, 30))
def test_no_word_is_lost_and_no_line_is_too_long(text, width):
    wrapped = wrap_words(text, width)
    assert wrapped.split() == text.split()
    for line in wrapped.splitlines():
        assert display_width(line) <= width or len(line.split()) == 1 or line.startswith("    ")
