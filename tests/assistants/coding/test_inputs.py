"""What a job is given is told under its name, and shortened where it is too long."""

from treadle.assistants.coding.inputs import (
    MAX_CHARACTERS,
    BuildInputs,
    DebugInputs,
    ReviewInputs,
    TriageInputs,
    find_missing_input,
    job_title,
    to_task_prompt,
    truncate_middle,
)


def test_each_thing_is_told_under_its_name_and_what_is_missing_is_not() -> None:
    said = to_task_prompt(BuildInputs("Add a flag", criteria=("it is documented", "it is tested")))
    assert said == "Build this:\nAdd a flag\n\nIt is done when:\n- it is documented\n- it is tested"
    assert to_task_prompt(DebugInputs(failing_test="test_x")) == "Find and fix this bug:\nTests fail.\n\nFailing test:\ntest_x"
    assert "Logs:\nboom" in to_task_prompt(TriageInputs(logs="boom"))


def test_of_a_long_log_the_beginning_and_the_end_are_told() -> None:
    log = "first\n" + "x" * 2 * MAX_CHARACTERS + "\nlast"
    short = truncate_middle(log)
    assert short.startswith("first")
    assert short.endswith("last")
    assert "characters left out" in short
    assert len(short) < MAX_CHARACTERS + 100
    assert truncate_middle(" a ") == "a"


def test_a_title_is_found_in_whatever_there_is() -> None:
    assert job_title(BuildInputs("", issue="#7")) == "#7"
    assert job_title(DebugInputs(stack_trace="Traceback\nKeyError: 'a'\n")) == "KeyError: 'a'"
    assert job_title(DebugInputs()) == "failing tests"
    assert job_title(ReviewInputs(branch="fix")) == "fix"
    assert job_title(ReviewInputs()) == "changes"
    assert job_title(TriageInputs(logs="a\nb\n\n")) == "b"


def test_work_without_anything_to_go_by_does_not_begin() -> None:
    assert find_missing_input(BuildInputs(" ")).startswith("There is nothing to go by")
    assert find_missing_input(TriageInputs()).startswith("There is nothing to go by")
    assert find_missing_input(DebugInputs()) == find_missing_input(ReviewInputs()) == find_missing_input(BuildInputs("x")) == ""
