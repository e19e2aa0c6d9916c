"""What a job is given is told under its name, and shortened where it is too long."""

from treadle.assistants.coding.given import MOST, Build, Debug, Review, Triage, is_enough, shortened, title_of, told


def test_each_thing_is_told_under_its_name_and_what_is_missing_is_not() -> None:
    said = told(Build("Add a flag", criteria=("it is documented", "it is tested")))
    assert said == "Build this:\nAdd a flag\n\nIt is done when:\n- it is documented\n- it is tested"
    assert told(Debug(failing_test="test_x")) == "Find and mend this bug:\nTests fail.\n\nFailing test:\ntest_x"
    assert "Logs:\nboom" in told(Triage(logs="boom"))


def test_of_a_long_log_the_beginning_and_the_end_are_told() -> None:
    log = "first\n" + "x" * 2 * MOST + "\nlast"
    short = shortened(log)
    assert short.startswith("first")
    assert short.endswith("last")
    assert "characters left out" in short
    assert len(short) < MOST + 100
    assert shortened(" a ") == "a"


def test_a_title_is_found_in_whatever_there_is() -> None:
    assert title_of(Build("", issue="#7")) == "#7"
    assert title_of(Debug(stack_trace="Traceback\nKeyError: 'a'\n")) == "KeyError: 'a'"
    assert title_of(Debug()) == "failing tests"
    assert title_of(Review(branch="fix")) == "fix"
    assert title_of(Review()) == "changes"
    assert title_of(Triage(logs="a\nb\n\n")) == "b"


def test_work_without_anything_to_go_by_does_not_begin() -> None:
    assert is_enough(Build(" ")).startswith("There is nothing to go by")
    assert is_enough(Triage()).startswith("There is nothing to go by")
    assert is_enough(Debug()) == is_enough(Review()) == is_enough(Build("x")) == ""
