"""Verification of a claim that work is done: by the tests after the last change, compared with those before the first. Pure."""

from msgspec import Struct

from treadle.workspace import CheckOutcome


class Verification(Struct, frozen=True):
    """Whether a claim holds, and why; `denied` says that the tests contradict it, rather than saying nothing."""

    holds: bool
    why: str
    denied: bool = False


def verify_claim(before: CheckOutcome | None, after: CheckOutcome | None) -> Verification:
    """Verify claimed work by the tests. Tests that failed before may still fail; no other may fail now."""
    if after is None or after.state == "not run":
        return Verification(False, "no tests could be run")
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
