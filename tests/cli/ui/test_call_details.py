"""A call as the person reads it who decides about it: all of it, once, and nothing that passes for something else."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.cli.ui.call_details import format_arguments, format_call_lines, print_call
from treadle.cli.ui.screen import Screen
from treadle.core.wrapping import display_width
from treadle.engine.setup import Approval

DIFF = "--- a.py\n+++ a.py\n@@ -1,1 +1,1 @@\n-return a\n+return b"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def approval(arguments, preview="", covers=(), name="edit"):
    return Approval("r", "c", name, arguments, "", "d", 0.0, 1.0, preview, covers=covers)


def shown(asked, columns=None, monkeypatch=None):
    """What is printed; at a terminal of so many columns, or to a file."""
    if monkeypatch is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
    err = io.StringIO() if columns is None else Terminal()
    print_call(Screen(out=io.StringIO(), err=err), asked)
    return err.getvalue().splitlines()


def test_arguments_that_the_preview_covers_are_left_out_and_all_others_are_there():
    given = {"path": "a.py", "old": "a", "new": "b", "replace_all": True}
    head, *lines = shown(approval(given, DIFF, ("old", "new")))
    assert head == '→ edit(path="a.py", replace_all=true, …) needs approval'
    assert lines == DIFF.splitlines()
    head, *lines = shown(approval(given, DIFF, ("path", "old", "new", "replace_all")))
    assert (head, lines) == ("→ edit needs approval", DIFF.splitlines())


def test_without_a_preview_that_covers_something_every_argument_has_its_line():
    given = {"path": "a.py", "old": "a"}
    assert shown(approval(given, DIFF)) == ["→ edit needs approval", "path: a.py", "old: a", *DIFF.splitlines()]
    assert shown(approval(given, "", ("old",))) == ["→ edit needs approval", "path: a.py", "old: a"]
    assert shown(approval({})) == ["→ edit needs approval"]


def test_arguments_that_are_too_long_for_the_first_line_have_lines_of_their_own():
    given = {"path": "a" * 60, "old": "a"}
    assert format_call_lines(approval(given, DIFF, ("old",)), 60) == ["edit needs approval", f"path: {'a' * 54}", f"  {'a' * 6}"]


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("plain text", ["it: plain text"]),
        ('say "yes" \\n', ['it: say "yes" \\n']),
        ("12", ['it: "12"']),
        ("true", ['it: "true"']),
        ('"a"', ['it: "\\"a\\""']),
        ("", ['it: ""']),
        (" a", ['it: " a"']),
        ("a\tb", ['it: "a\\tb"']),
        ("A\u202eB", ['it: "A\\u202eB"']),
        ("a\r", ['it: "a\\r"']),
        ("one\n\n\ttwo\n", ["it:", "  one", "  ", "      two", "  "]),
        ("one\ntwo\x1b[2J", ['it: "one\\ntwo\\u001b[2J"']),
        (12, ["it: 12"]),
        (None, ["it: null"]),
        ([1, "a"], ['it: [1,"a"]']),
        ({"a": "b" * 60}, ["it: {", f'    "a": "{"b" * 60}"', "  }"]),
    ],
)
def test_a_value_is_shown_as_it_is_where_that_can_be_misread_by_nobody(value, lines):
    assert format_arguments({"it": value}, 80) == lines


def test_a_name_that_is_no_word_is_json():
    assert format_arguments({"a: b\nc": 1}, 80) == ['"a: b\\nc": 1']


@given(st.text(st.sampled_from('ab: \n"{1\t\u65e5'), max_size=200), st.integers(40, 60))
def test_no_part_of_a_value_passes_for_another_argument(text, width):
    lines = format_arguments({"first": text, "last": 1}, width)
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == ["first", "last"]
    assert all(display_width(line) <= width for line in lines)


def test_a_plan_is_broken_between_words_and_a_diff_nowhere(monkeypatch):
    steps = "1. Read the whole file\n2. Change the price in the one place where it is computed"
    assert shown(approval({"steps": []}, steps, ("steps",)), 40, monkeypatch) == [
        "→ edit needs approval",
        "1. Read the whole file",
        "2. Change the price in the one place ",
        "   where it is computed",
    ]
    long = f"{DIFF} {'word ' * 20}".rstrip()
    assert shown(approval({}, long), 40, monkeypatch)[-1] == long.splitlines()[-1]
