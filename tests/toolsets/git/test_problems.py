"""What git says, as a problem."""

from treadle.sandbox.values import CommandResult
from treadle.toolsets.git.sandboxed import MAX_OUTPUT, GitFailed, NoGit, git_failure, shorten_git_output


def ran(code, output="", killed_for=""):
    return CommandResult(code, output, False, 12.0, killed_for == "time", killed_for)


def test_hints_and_labels_are_left_out():
    assert shorten_git_output("error: one\nhint: try this\n\nfatal: two\n") == "one\ntwo"


def test_a_long_complaint_is_cut():
    assert shorten_git_output("x" * (MAX_OUTPUT + 5)) == "x" * MAX_OUTPUT + " [5 more characters]"


def test_each_end_has_its_words():
    assert str(git_failure("git diff", ran(None, killed_for="time"))) == (
        "git diff was ended after 12 s because it took too much time. Do less at a time."
    )
    assert isinstance(git_failure("git diff", ran(127, "sh: 1: git: not found")), NoGit)
    silent = git_failure("git diff", ran(3))
    assert isinstance(silent, GitFailed)
    assert str(silent) == "git diff failed: git ended with code 3 and said nothing."
