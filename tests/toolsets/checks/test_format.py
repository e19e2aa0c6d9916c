"""An outcome in a few lines for a model."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.checks.format import MAX_LENGTH, format_outcome
from treadle.toolsets.checks.values import CheckFailure, CheckOutcome, State


def outcome(state="failed", passed=0, failed=0, skipped=0, errors=0, failures=(), output="", **more):
    return CheckOutcome("pytest", "pytest tests", passed, failed, skipped, errors, tuple(failures), state, output, 1.25, **more)


def test_counts_come_first_then_each_failure_with_its_place_and_message():
    failures = [
        CheckFailure("test_a", "assert 1 == 2\n +  where 1 = f()", "tests/test_a.py", 3),
        CheckFailure("test_b"),
        CheckFailure("test_c", path="c.py"),
    ]
    told = format_outcome(outcome(passed=7, failed=3, skipped=2, failures=failures, output="never shown"))
    assert told == (
        "Failed: 7 passed, 3 failed, 2 skipped (pytest tests, 1.2 s).\n\n"
        "test_a (tests/test_a.py:3)\n  assert 1 == 2\n   +  where 1 = f()\n\ntest_b\n\ntest_c (c.py)"
    )


@pytest.mark.parametrize(
    ("told", "how"),
    [
        ("Passed: 3 passed, 1 skipped (pytest tests, 1.2 s).", {"state": "passed", "passed": 3, "skipped": 1}),
        ("Passed: 3 passed (pytest tests, 1.2 s, run 5 times).", {"state": "passed", "passed": 3, "runs": 5}),
        ("No tests ran (pytest tests, 1.2 s). Nothing was tested.", {"state": "no tests"}),
        ("The tests could not be run to their end: 1 error (pytest tests, 1.2 s).", {"state": "crashed", "errors": 1}),
        (
            "The tests could not be run to their end: 2 errors (pytest tests, 1.2 s). The last test begun was test_b.",
            {"state": "crashed", "errors": 2, "last": "test_b"},
        ),
        (
            "Failed: 3 passed (pytest tests, 1.2 s). No test failed, but the command ended with an error.",
            {"state": "failed", "passed": 3},
        ),
    ],
)
def test_every_state_has_a_first_line(told, how):
    assert format_outcome(outcome(**how)) == told


def test_a_time_out_says_what_was_running_and_what_to_do():
    told = format_outcome(outcome("timed out", passed=2, last="test_slow"))
    assert told.startswith(
        "The tests took too long and were ended: 2 passed (pytest tests, 1.2 s). The last test begun was test_slow. Run fewer"
    )


def test_tests_that_were_not_run_are_told_by_the_reason_alone():
    assert format_outcome(outcome("not run", output="There is no tests.")) == "The tests were not run. There is no tests."


def test_the_end_of_the_output_is_shown_where_there_is_nothing_better():
    output = "\n".join(f"line {number}" for number in range(1000))
    told = format_outcome(outcome("crashed", output=output))
    assert told.endswith("line 999")
    assert "The end of the output:\n…" in told
    assert "line 5\n" not in told
    assert "The end" not in format_outcome(outcome("passed", passed=1, output=output))


def test_verbose_adds_the_end_of_the_output():
    told = format_outcome(outcome("passed", passed=1, output="all is well\n"), verbose=True)
    assert told.endswith("\n\nThe end of the output:\nall is well")


def test_ten_failures_are_told_and_the_others_counted():
    failures = [CheckFailure(f"test_{number}", "x" * 5_000, "a.py", number) for number in range(30)]
    told = format_outcome(outcome(failed=70, failures=failures))
    assert "test_9 (a.py:9)" in told
    assert "test_10" not in told
    assert told.endswith("And 60 more.")
    assert len(told) < MAX_LENGTH + 200


def test_a_long_message_keeps_its_beginning_and_its_end():
    told = format_outcome(outcome(failed=1, failures=[CheckFailure("test_a", "begin" + "x" * 9_000 + "end")]))
    assert "  begin" in told
    assert told.endswith("end")
    assert "characters left out" in told


texts = st.text(max_size=3_000)
failures = st.builds(CheckFailure, st.text(max_size=500), texts, st.text(max_size=100), st.none() | st.integers(0, 10**6))


@given(
    st.sampled_from([state for state in get_args(State) if state != "not run"]),
    st.lists(failures, max_size=14),
    texts,
    st.booleans(),
)
def test_it_is_never_long(state, some, output, verbose):
    told = format_outcome(outcome(state, failed=len(some), failures=some, output=output), verbose=verbose)
    assert len(told) < MAX_LENGTH * 2
