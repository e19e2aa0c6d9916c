"""Whether a claim that work is done holds: by the tests, run after the last change, beside those before the first. Pure."""

from msgspec import Struct

from treadle.workspace import Outcome


class Verified(Struct, frozen=True):
    """Whether it holds, and why, in a sentence."""

    holds: bool
    why: str


def verified(before: Outcome | None, after: Outcome | None) -> Verified:
    """What the tests say of work that is claimed to be done. Tests that failed before may still fail; none may fail anew."""
    if after is None or after.state == "not run":
        return Verified(False, "no tests could be run")
    match after.state:
        case "passed":
            return Verified(True, f"{_counted(after.passed)} pass")
        case "no tests":
            return Verified(False, "there are no tests")
        case "timed out":
            return Verified(False, "the tests took too long")
        case "crashed":
            return Verified(False, "the tests can't be run")
        case "failed":
            return _beside(before, after)


def _beside(before: Outcome | None, after: Outcome) -> Verified:
    known = {failure.name for failure in before.failures} if before is not None else set[str]()
    new = [failure.name for failure in after.failures if failure.name not in known]
    mended = known - {failure.name for failure in after.failures}
    if new or not after.failures:
        named = f": {', '.join(new[:3])}" if new else ""
        return Verified(False, f"{_counted(after.failed + after.errors)} fail{named}")
    if mended:
        return Verified(False, f"{_counted(len(after.failures))} that failed before still fail, {len(mended)} pass now")
    return Verified(False, f"{_counted(len(after.failures))} that failed before still fail")


def _counted(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"
