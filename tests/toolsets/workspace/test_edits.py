"""Edits of a text: by line, by text, and nothing else touched."""

import re

from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.workspace.edits import (
    AmbiguousMatch,
    EditedText,
    LinesOutOfRange,
    TextNotFound,
    append_lines,
    delete_lines,
    format_edit_diff,
    insert_lines,
    replace_all,
    replace_lines,
    replace_text,
    split_keeping_ends,
)

a_line = st.text(st.sampled_from("ab \tx\r\x0b\u2028é"), max_size=5).map(lambda line: line.rstrip("\r"))
endings = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw, least=1):
    lines = draw(st.lists(a_line, min_size=least, max_size=8))
    ending = draw(endings)
    text = ending.join(lines)
    return text + ending if draw(st.booleans()) else text


def bare(text):
    return [line.removesuffix("\n").removesuffix("\r") for line in split_keeping_ends(text)]


def patched(before, hunks):
    """`before` with a unified diff applied, by the line numbers it gives."""
    old, made, at = bare(before), [], 0
    for line in hunks.split("\n") if hunks else []:
        if header := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            start = int(header[1]) - (header[2] != "0")
            made += old[at:start]
            at = start
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            made += [line[1:]] if line.startswith(" ") else []
    return made + old[at:]


@given(texts(), st.data())
def test_replacing_lines_leaves_all_others_as_they_were(text, data):
    count = len(split_keeping_ends(text))
    start = data.draw(st.integers(1, max(count, 1)))
    end = data.draw(st.integers(start, max(count, start)))
    new = data.draw(texts())
    match replace_lines(text, start, end, new):
        case LinesOutOfRange():
            assert not 1 <= start <= end <= count
        case edited:
            after = bare(edited.text)
            assert after == bare(text)[: start - 1] + bare(new) + bare(text)[end:]
            assert edited.text.startswith("".join(split_keeping_ends(text)[: start - 1]).removesuffix("\n").removesuffix("\r"))
            assert after[edited.start - 1 : edited.end] == bare(new)
            if end < count:
                assert edited.text.endswith("".join(split_keeping_ends(text)[end:]))


@given(texts(), st.data())
def test_inserting_and_deleting_again_gives_the_same_lines(text, data):
    count = len(split_keeping_ends(text))
    line = data.draw(st.integers(1, count + 1))
    new = data.draw(texts().filter(lambda text: bool(split_keeping_ends(text))))
    inserted = insert_lines(text, line, new)
    assert bare(inserted.text) == bare(text)[: line - 1] + bare(new) + bare(text)[line - 1 :]
    assert bare(delete_lines(inserted.text, inserted.start, inserted.end).text) == bare(text)


@given(texts(), texts())
def test_a_diff_says_exactly_what_changed(before, after):
    assert patched(before, format_edit_diff(before, after, most=1000)) == bare(after)


@given(texts(), st.data())
def test_the_diff_of_an_edit_applied_to_the_old_text_gives_the_new(text, data):
    count = len(split_keeping_ends(text))
    line = data.draw(st.integers(1, count + 1))
    edited = insert_lines(text, line, data.draw(texts()))
    assert patched(text, format_edit_diff(text, edited.text, most=1000)) == bare(edited.text)


@given(st.lists(st.text("ab ", max_size=4), min_size=1, max_size=8), st.booleans(), st.data())
def test_windows_line_endings_stay(lines, closed, data):
    text = "\r\n".join(lines) + ("\r\n" if closed else "")
    count = len(split_keeping_ends(text))
    new = data.draw(st.sampled_from(["x", "x\n", "x\ny", "x\r\ny\n"]))
    edited = insert_lines(text, data.draw(st.integers(1, count + 1)), new).text
    if "\r\n" in text:
        assert edited.count("\n") == edited.count("\r\n")
    assert not text or edited.endswith("\n") == text.endswith("\n")


@given(texts(), st.data())
def test_replacing_a_text_changes_that_place_alone(text, data):
    plain = text.replace("\r\n", "\n")
    start = data.draw(st.integers(0, len(plain)))
    old = plain[start : data.draw(st.integers(start, len(plain)))]
    new = data.draw(st.sampled_from(["", "q", "q\nr", "q\n"]))
    line = data.draw(st.none() | st.integers(1, 9))
    places = [at for at in range(len(plain)) if old and plain.startswith(old, at)]
    match replace_text(text, old, new, line):
        case AmbiguousMatch() as ambiguous:
            assert ambiguous.count == len(places) > 1
            assert [place.line for place in ambiguous.places] == [plain.count("\n", 0, at) + 1 for at in places][:20]
        case TextNotFound():
            assert old == ""
        case edited:
            made = [plain[:at] + new + plain[at + len(old) :] for at in places]
            assert edited.text.replace("\r\n", "\n") in made
            if text.count("\r\n") == text.count("\n") > 0:
                assert edited.text.count("\r\n") == edited.text.count("\n")


@given(st.text("ab\n", max_size=30), st.text("ab\n", min_size=1, max_size=3), st.text("xy\n", max_size=3), endings)
def test_replacing_everywhere_is_what_str_replace_does(plain, old, new, ending):
    text = plain.replace("\n", ending)
    match replace_all(text, old, new):
        case TextNotFound():
            assert old not in plain
        case edited:
            assert edited.text.replace("\r\n", "\n") == plain.replace(old, new)
            assert edited.count == plain.count(old)


def test_a_hint_picks_one_of_several_matches():
    text = "a\nx\nb\nx\n"
    assert replace_text(text, "x", "y", 4) == EditedText("a\nx\nb\ny\n", 4, 4)
    assert replace_text(text, "x", "y", 2) == EditedText("a\ny\nb\nx\n", 2, 2)


def test_a_hint_that_is_on_no_match_picks_none():
    assert isinstance(replace_text("a\nx\nb\nx\n", "x", "y", 3), AmbiguousMatch)
    assert isinstance(replace_text("x x\n", "x", "y", 1), AmbiguousMatch)


def test_matches_that_overlap_are_several():
    assert isinstance(replace_text("aaa", "aa", "b"), AmbiguousMatch)


def test_ambiguous_matches_are_listed_with_the_lines_around_them():
    found = replace_text("a\nx\nb\nx\n", "x", "y")
    assert [(place.line, place.context) for place in found.places] == [(2, "1|a\n2|x\n3|b"), (4, "3|b\n4|x")]


def test_lines_indented_otherwise_are_found_and_the_new_ones_indented_alike():
    text = "class A:\n    def f(self):  \n        return 1\n\n    x = 2\n"
    edited = replace_text(text, "def f(self):\n    return 1\n", "def f(self):\n    if x:\n        return 2\n\n    return 3\n")
    new = "    def f(self):\n        if x:\n            return 2\n\n        return 3\n"
    assert edited.text == f"class A:\n{new}\n    x = 2\n"
    assert edited.tolerant


def test_lines_indented_too_far_are_found_too():
    assert (
        replace_text("def f():\n\treturn 1\n", "\tdef f():\n\t\treturn 1", "\tdef f():\n\t\treturn 2").text
        == "def f():\n\treturn 2\n"
    )


def test_tabs_for_spaces_are_a_shift_too():
    assert replace_text("\tx = 1\n\ty = 2\n", "    x = 1\n    y = 2", "    z = 3").text == "\tz = 3\n"


def test_so_many_matches_are_not_all_counted():
    assert replace_text("a" * 100_000, "a", "b").count == 10_000


def test_a_shift_that_is_not_the_same_for_all_lines_is_no_match():
    assert isinstance(replace_text("if a:\n  b\n", "  if a:\n  b\n", ""), TextNotFound)


def test_several_lines_alike_but_for_whitespace_are_ambiguous():
    text = "  x = 1 \n\n    x = 1 \n"
    assert [place.line for place in replace_text(text, "x = 1\n", "y\n").places] == [1, 3]
    assert replace_text(text, "x = 1\n", "y\n", 3).text == "  x = 1 \n\n    y\n"


def test_a_tolerant_match_keeps_line_endings_and_the_open_end():
    assert replace_text("a\r\n  b \r\n  c", "b\nc", "d\ne").text == "a\r\n  d\r\n  e"
    assert replace_text("a\n  b \n  c", "b\nc", "").text == "a"


def test_what_is_not_there_names_the_nearest_lines():
    found = replace_text("import os\n\ndef compute_total(items):\n    pass\n", "def compute_totals(item):", "x")
    assert [place.line for place in found.nearest] == [3]


def test_what_is_there_already_is_said():
    assert replace_text("a\nnew text\n", "old text that is gone", "new text").already == 2


def test_blank_text_is_not_looked_for_loosely():
    assert isinstance(replace_text("a\nb\n", " \n ", "x"), TextNotFound)


def test_line_numbers_that_are_not_there_are_said():
    assert replace_lines("a\nb\n", 0, 1, "x") == LinesOutOfRange(2)
    assert replace_lines("a\nb\n", 2, 1, "x") == LinesOutOfRange(2)
    assert replace_lines("a\nb\n", 1, 3, "x") == LinesOutOfRange(2)
    assert insert_lines("a\nb\n", 4, "x") == LinesOutOfRange(2)


def test_inserting_into_nothing_keeps_the_end_as_written():
    assert insert_lines("", 1, "a").text == "a"
    assert insert_lines("", 1, "a\n").text == "a\n"


def test_appending_closes_the_last_line_first():
    assert append_lines("a", "b").text == "a\nb"
    assert append_lines("a\r\n", "b\n") == EditedText("a\r\nb\r\n", 2, 2)
    assert append_lines("", "b\n") == EditedText("b\n", 1, 1)


def test_a_deleted_last_line_leaves_the_empty_one_before_it():
    assert delete_lines("a\n\nb", 3, 3).text == "a\n\n"
    assert delete_lines("a\nb", 2, 2).text == "a"


def test_a_long_diff_is_cut_and_a_huge_one_is_counted():
    text = "".join([f"{number}\n" for number in range(300)])
    cut = format_edit_diff(text, text.replace("0", "x"), most=10)
    assert len(cut.split("\n")) == 11
    assert "more lines" in cut
    assert format_edit_diff("a\n" * 3000, "b\n" * 3000) == "[3000 lines became 3000 lines]"


def test_the_diff_of_a_small_edit_in_a_large_file_has_its_line_numbers():
    text = "".join([f"{number}\n" for number in range(50_000)])
    assert format_edit_diff(text, text.replace("\n40000\n", "\nhere\n")).startswith("@@ -39998,7 +39998,7 @@")
