"""A claim holds if the tests that ran after the last change pass, and not otherwise."""

import pytest

from treadle.assistants.coding.verification import RepairEvidence, shows_symptom, verify_claim, verify_repair
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


def repaired(
    before: CheckOutcome | None, after: CheckOutcome, *changed: str, **runs: CheckOutcome | None
) -> tuple[bool, bool, str]:
    proof = verify_repair(RepairEvidence(before, after, changed, runs.get("reproduction"), runs.get("unchanged"), "it is wrong"))
    return proof.holds, proof.denied, proof.why


def fails_with(message: str, path: str = "test_a.py") -> CheckOutcome:
    return CheckOutcome("pytest", "pytest", 2, 1, 0, 0, (CheckFailure("a", message, path, 1),), "failed", "", 0.1)


PASSED, SHOWN = outcome("passed"), fails_with("assert 1 == 2")


@pytest.mark.parametrize(
    ("before", "after", "changed", "runs", "why"),
    [
        (PASSED, PASSED, (), {}, "nothing was changed"),
        (SHOWN, PASSED, ("tests/test_a.py",), {}, "only tests were changed"),
        (
            SHOWN,
            PASSED,
            ("a.py", "conftest.py"),
            {"unchanged": SHOWN},
            "tests were changed, and as they were before they don't pass",
        ),
        (SHOWN, SHOWN, ("a.py",), {}, "1 test that failed before still fails"),
        (PASSED, PASSED, ("a.py",), {}, "no test shows the symptom: without the change the tests can't be run"),
        (
            PASSED,
            PASSED,
            ("a.py", "test_a.py"),
            {"reproduction": fails_with("ImportError: no f")},
            "no test shows the symptom: without the change a test fails for another reason (ImportError: no f)",
        ),
        (
            SHOWN,
            PASSED,
            ("a.py", "test_a.py"),
            {"unchanged": outcome("not run")},
            "tests were changed, and as they were before they couldn't be run",
        ),
        (
            PASSED,
            PASSED,
            ("a.py", "test_a.py"),
            {"reproduction": PASSED},
            "no test shows the symptom: without the change the tests pass as well",
        ),
        (None, outcome("no tests", passed=0), ("a.py",), {}, "there are no tests"),
        (None, outcome("not run", passed=0), ("a.py",), {}, "no tests could be run"),
    ],
)
def test_a_repair_that_nothing_proves_is_denied(before, after, changed, runs, why) -> None:
    assert repaired(before, after, *changed, **runs) == (False, True, why)


def test_a_repair_is_verified_by_tests_that_fail_without_it() -> None:
    assert repaired(SHOWN, PASSED, "a.py") == (True, False, "3 tests pass")
    assert repaired(outcome("crashed", passed=0), PASSED, "a.py")[0]
    assert repaired(SHOWN, PASSED, "a.py", "test_a.py", unchanged=PASSED)[0]
    assert repaired(PASSED, PASSED, "a.py", "test_a.py", reproduction=SHOWN) == (
        True,
        False,
        "3 tests pass, and without the change a new test fails",
    )


@pytest.mark.parametrize(
    ("message", "path", "symptom", "shown"),
    [
        ("assert 1 == 2", "test_a.py", "x", True),
        ("AssertionError: no", "test_a.py", "x", True),
        ("Failed: DID NOT RAISE <class 'ValueError'>", "test_a.py", "x", True),
        ("NameError: name 'x' is not defined", "test_a.py", "it fails", False),
        ("ImportError: no f", "a.py", "it fails", False),
        ("ImportError: no f", "a.py", "there is an ImportError", True),
        ("pkg.errors.ParseError: at 1", "test_a.py", "a ParseError is raised", True),
        ("KeyError: 'a'", "a.py", "it crashes", True),
        ("KeyError: 'a'", "a.py", "the sum is wrong", False),
        ("KeyError: 'a'", "test_a.py", "it crashes", False),
        ("", "", "it crashes", False),
    ],
)
def test_a_test_shows_a_symptom_by_an_assertion_or_by_the_exception_that_was_reported(message, path, symptom, shown) -> None:
    assert shows_symptom(fails_with(message, path), symptom) is shown


def test_a_test_that_hangs_shows_a_symptom_and_one_that_was_not_run_does_not() -> None:
    assert shows_symptom(outcome("timed out"), "it hangs")
    assert not shows_symptom(outcome("crashed"), "it hangs")
    assert not shows_symptom(None, "it hangs")
