"""A claim holds if the tests that ran after the last change pass, and not otherwise."""

import pytest

from treadle.assistants.coding.verification import verify_claim
from treadle.workspace import CheckFailure, CheckOutcome


def outcome(state: str, *failures: str, passed: int = 3) -> CheckOutcome:
    failed = tuple([CheckFailure(name) for name in failures])
    return CheckOutcome("pytest", "pytest", passed, len(failures), 0, 0, failed, state, "", 0.1)  # pyright: ignore[reportArgumentType]


def test_tests_that_pass_verify_it() -> None:
    assert verify_claim(outcome("failed", "a", passed=2), outcome("passed")).holds
    assert verify_claim(None, outcome("passed", passed=1)).why == "1 test passes"


def test_tests_that_are_gone_prove_nothing() -> None:
    proof = verify_claim(outcome("failed", "a", passed=2), outcome("passed", passed=1))
    assert (proof.holds, proof.denied, proof.why) == (False, True, "only 1 of 3 tests are left")
    assert verify_claim(outcome("passed"), outcome("no tests", passed=0)).denied


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
    proof = verify_claim(outcome("passed"), outcome(state))
    assert (proof.holds, proof.why) == (False, why)


def test_a_test_that_fails_anew_is_named() -> None:
    proof = verify_claim(outcome("failed", "old"), outcome("failed", "old", "new"))
    assert (proof.holds, proof.why) == (False, "2 tests fail: new")


def test_what_failed_before_and_still_fails_is_told_apart() -> None:
    assert (
        verify_claim(outcome("failed", "a", "b"), outcome("failed", "a")).why == "1 test that failed before still fails, 1 pass now"
    )
    assert verify_claim(outcome("failed", "a"), outcome("failed", "a")).why == "1 test that failed before still fails"


def test_a_runner_that_says_no_without_a_name_is_no_proof() -> None:
    assert verify_claim(None, outcome("failed")).holds is False
