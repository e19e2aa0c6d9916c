import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.parsing import cut_anyhow
from treadle.dialects.output import MarkdownLine


def line_after(*said: str) -> MarkdownLine:
    line = MarkdownLine()
    for words in said:
        line.add(words)
    return line


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ("", "line"),
        ("words\n", "line"),
        ("words\n  ", "line"),
        ("words\n    ", "inside"),
        ("words\n\t", "inside"),
        ("I look.", "sentence"),
        ("I look! \t", "sentence"),
        ("I look", "glued"),
        ("I look ", "inside"),
        ("(", "inside"),
        ("I look: ", "inside"),
        ("> so. ", "quoted"),
        ('write "so and ', "quoted"),
        ('write "so" and ', "inside"),
        ("write '", "quoted"),
        ("don' ", "inside"),
        ("write \u201c", "quoted"),
        ('"a\n', "line"),
    ],
)
def test_the_line_so_far_says_where_we_are(said: str, where: str) -> None:
    assert line_after(said).where() == where


@settings(deadline=None)
@given(st.text(alphabet="a.\n \t\">'"), st.integers(0, 100))
def test_it_makes_no_difference_in_what_pieces_it_was_said(said: str, seed: int) -> None:
    line = MarkdownLine()
    for piece in cut_anyhow(said, seed):
        line.add(piece)
        line.where()
    assert line.where() == line_after(said).where()


def test_code_lasts_until_as_many_backticks_or_the_end_of_the_line() -> None:
    line = line_after("the ")
    assert line.where() == "inside"
    line.toggle_code(2)
    assert line.where() == "code"
    line.toggle_code(1)
    assert line.where() == "code"
    line.toggle_code(2)
    assert line.where() == "inside"
    line.toggle_code(1)
    line.add("so\n")
    assert line.where() == "line"
