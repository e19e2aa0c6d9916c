"""Verification of a claim that work is done: by the tests after the last change, compared with those before the first. Pure.

A repair needs more than tests that pass: a test that fails on the code as it was, and passes now.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from treadle.workspace import CheckFailure, CheckOutcome

_TEST_PATH = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|(_test|\.test|\.spec|_spec)\.\w+$|(^|/)conftest\.py$")
_ASSERTION = re.compile(r"assert\b|AssertionError\b|(\w+\.)*Failed: DID NOT RAISE")
_EXCEPTION = re.compile(r"(?:\w+\.)*(\w+)")
_CRASH_WORDS = re.compile(r"\b(crash|rais|throw|error|exception|fail|traceback)", re.IGNORECASE)
_DEFECTS_OF_A_TEST = ("NameError", "SyntaxError", "IndentationError", "ImportError", "ModuleNotFoundError")


class Verification(Struct, frozen=True):
    """Whether a claim holds, and why; `denied` says that the tests contradict it, rather than saying nothing."""

    holds: bool
    why: str
    denied: bool = False


class RepairEvidence(Struct, frozen=True):
    """What test runs say about a repair.

    before        the tests before the first change
    after         the tests after the last change
    changed       the files that were changed
    reproduction  the tests as they are now, on the code as it was; None if tests failed before anyway
    unchanged     the tests as they were, on the code as it is now; None if none of them was changed
    symptom       what the user reported
    """

    before: CheckOutcome | None
    after: CheckOutcome | None
    changed: tuple[str, ...]
    reproduction: CheckOutcome | None = None
    unchanged: CheckOutcome | None = None
    symptom: str = ""


def is_test_path(path: str) -> bool:
    """Return whether a file belongs to the tests, by its name and folder."""
    return _TEST_PATH.search(path) is not None


def has_failed(outcome: CheckOutcome | None) -> bool:
    """Return whether tests were run and didn't pass."""
    return outcome is not None and outcome.state in ("failed", "crashed", "timed out")


def verify_repair(evidence: RepairEvidence) -> Verification:
    """Verify that a bug is fixed: tests fail without the change of the code, and all pass with it."""
    if not evidence.changed:
        return Verification(False, "nothing was changed", denied=True)
    claim = verify_claim(evidence.before, evidence.after)
    if not claim.holds:
        return replace(claim, denied=True)
    if all(map(is_test_path, evidence.changed)):
        return Verification(False, "only tests were changed", denied=True)
    if evidence.unchanged is not None and evidence.unchanged.state != "passed":
        result = "couldn't be run" if evidence.unchanged.state == "not run" else "don't pass"
        return Verification(False, f"tests were changed, and as they were before they {result}", denied=True)
    if has_failed(evidence.before):
        return claim
    if shows_symptom(evidence.reproduction, evidence.symptom):
        return Verification(True, f"{claim.why}, and without the change a new test fails")
    return Verification(False, f"no test shows the symptom: {_describe_reproduction(evidence.reproduction)}", denied=True)


def _describe_reproduction(outcome: CheckOutcome | None) -> str:
    """Say how tests that don't show the symptom end on the code as it was."""
    if outcome is None or outcome.state in ("crashed", "not run"):
        return "without the change the tests can't be run"
    if outcome.runner == "check":
        return f"there are none, and without the change `{outcome.command}` {'fails' if has_failed(outcome) else 'passes'} as well"
    if outcome.state != "failed":
        return "without the change the tests pass as well"
    message = next((failure.message.strip() for failure in outcome.failures if failure.message.strip()), "no message")
    return f"without the change a test fails for another reason ({message.splitlines()[0][:200]})"


def shows_symptom(outcome: CheckOutcome | None, symptom: str) -> bool:
    """Return whether a test fails for the reported reason, and not because it is itself defective."""
    if outcome is None or outcome.state not in ("failed", "timed out"):
        return False
    return outcome.state == "timed out" or any(_is_symptom(failure, symptom) for failure in outcome.failures)


def _is_symptom(failure: CheckFailure, symptom: str) -> bool:
    """Return whether a failure is a failed assertion, or an exception that was reported."""
    message = failure.message.strip()
    if _ASSERTION.match(message):
        return True
    found = _EXCEPTION.match(message)
    name = found[1] if found else ""
    if name and re.search(rf"\b{name}\b", symptom):
        return True
    in_code = bool(failure.path) and not is_test_path(failure.path)
    return in_code and name not in _DEFECTS_OF_A_TEST and _CRASH_WORDS.search(symptom) is not None


def verify_claim(before: CheckOutcome | None, after: CheckOutcome | None) -> Verification:
    """Verify claimed work by the tests. Tests that failed before may still fail; no other may fail now."""
    if after is None or after.state == "not run":
        return Verification(False, "no tests could be run")
    if after.runner == "check":
        return _verify_by_check(before, after)
    match after.state:
        case "passed":
            return _check_passed(before, after)
        case "no tests":
            return Verification(False, "there are no tests", denied=_had_tests(before))
        case "timed out":
            return Verification(False, "the tests took too long", denied=True)
        case "crashed":
            return Verification(False, "the tests can't be run", denied=True)
        case "failed":
            return _compare_failures(before, after)


def _verify_by_check(before: CheckOutcome | None, after: CheckOutcome) -> Verification:
    """Verify claimed work by a check that the user agreed to. It doesn't stand in for tests that were there before."""
    if _had_tests(before):
        return Verification(False, "there are no tests any more", denied=True)
    match after.state:
        case "passed":
            before_it = ", which failed before," if has_failed(before) else ""
            return Verification(True, f"`{after.command}`{before_it} passes; there are no tests")
        case "timed out":
            return Verification(False, f"`{after.command}` took too long", denied=True)
        case _:
            return Verification(False, f"`{after.command}` fails", denied=True)


def _check_passed(before: CheckOutcome | None, after: CheckOutcome) -> Verification:
    """Check passing tests: they prove something only if none of the earlier tests is missing."""
    were = 0 if before is None else _count_ran(before)
    if were > _count_ran(after):
        return Verification(False, f"only {_count_ran(after)} of {were} tests are left", denied=True)
    return Verification(True, f"{_count_tests(after.passed)} pass{'es' if after.passed == 1 else ''}")


def _had_tests(before: CheckOutcome | None) -> bool:
    return before is not None and _count_ran(before) > 0


def _count_ran(outcome: CheckOutcome) -> int:
    return outcome.passed + outcome.failed + outcome.skipped


def _compare_failures(before: CheckOutcome | None, after: CheckOutcome) -> Verification:
    known = {failure.name for failure in before.failures} if before is not None else set[str]()
    new = [failure.name for failure in after.failures if failure.name not in known]
    mended = known - {failure.name for failure in after.failures}
    if new or not after.failures:
        named = f": {', '.join(new[:3])}" if new else ""
        return Verification(False, f"{_format_failing(after.failed + after.errors)}{named}", denied=True)
    if mended:
        return Verification(False, f"{_format_still_failing(after)}, {len(mended)} pass now", denied=True)
    return Verification(False, _format_still_failing(after), denied=True)


def _format_still_failing(after: CheckOutcome) -> str:
    number = len(after.failures)
    return f"{_count_tests(number)} that failed before still fail{'s' if number == 1 else ''}"


def _format_failing(number: int) -> str:
    return f"{_count_tests(number)} fail{'s' if number == 1 else ''}"


def _count_tests(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"
