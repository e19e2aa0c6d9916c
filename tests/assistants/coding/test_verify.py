"""A claim holds if the tests that ran after the last change pass, and not otherwise."""

import pytest

from treadle.assistants.coding.verify import verified
from treadle.workspace import Failure, Outcome


def outcome(state: str, *failures: str, passed: int = 3) -> Outcome:
    failed = tuple([Failure(name) for name in failures])
    return Outcome("pytest", "pytest", passed, len(failures), 0, 0, failed, state, "", 0.1)  # pyright: ignore[reportArgumentType]


def test_tests_that_pass_verify_it() -> None:
    assert verified(outcome("failed", "a", passed=2), outcome("passed")).holds
    assert verified(None, outcome("passed", passed=1)).why == "1 test passes"


def test_tests_that_are_gone_prove_nothing() -> None:
    proof = verified(outcome("failed", "a", passed=2), outcome("passed", passed=1))
    assert (proof.holds, proof.denied, proof.why) == (False, True, "only 1 of 3 tests are left")
    assert verified(outcome("passed"), outcome("no tests", passed=0)).denied


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("no tests", "there are no tests"),
        ("timed out", "the tests took too long"),
        ("crashed", "the tests can't be run"),
        ("not run", "no tests could be run"),
    ],
)
def test_tests_that_say_nothing_verify_nothing(state: str, why: str) -> None:
    proof = verified(outcome("passed"), outcome(state))
    assert (proof.holds, proof.why) == (False, why)


def test_a_test_that_fails_anew_is_named() -> None:
    proof = verified(outcome("failed", "old"), outcome("failed", "old", "new"))
    assert (proof.holds, proof.why) == (False, "2 tests fail: new")


def test_what_failed_before_and_still_fails_is_told_apart() -> None:
    assert verified(outcome("failed", "a", "b"), outcome("failed", "a")).why == "1 test that failed before still fails, 1 pass now"
    assert verified(outcome("failed", "a"), outcome("failed", "a")).why == "1 test that failed before still fails"


def test_a_runner_that_says_no_without_a_name_is_no_proof() -> None:
    assert verified(None, outcome("failed")).holds is False
