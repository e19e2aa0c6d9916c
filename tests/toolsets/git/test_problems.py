"""What git says, as a problem."""

from treadle.toolsets.git.problems import MOST_SAID, Failed, NoGit, failed, said
from treadle.toolsets.sandbox.values import Ran


def ran(code, output="", killed_for=""):
    return Ran(code, output, False, 12.0, killed_for == "time", killed_for)


def test_hints_and_labels_are_left_out():
    assert said("error: one\nhint: try this\n\nfatal: two\n") == "one\ntwo"


def test_a_long_complaint_is_cut():
    assert said("x" * (MOST_SAID + 5)) == "x" * MOST_SAID + " [5 more characters]"


def test_each_end_has_its_words():
    assert str(failed("git diff", ran(None, killed_for="time"))) == (
        "git diff was ended after 12 s because it took too much time. Do less at a time."
    )
    assert isinstance(failed("git diff", ran(127, "sh: 1: git: not found")), NoGit)
    silent = failed("git diff", ran(3))
    assert isinstance(silent, Failed)
    assert str(silent) == "git diff failed: git ended with code 3 and said nothing."
