"""Whether a claim that work is done holds: by the tests, run after the last change, beside those before the first. Pure."""

from msgspec import Struct

from treadle.workspace import Outcome


class Verified(Struct, frozen=True):
    """Whether it holds, and why, in a few words; `denied` says that the tests speak against it, and aren't merely silent."""

    holds: bool
    why: str
    denied: bool = False


def verified(before: Outcome | None, after: Outcome | None) -> Verified:
    """What the tests say of work that is claimed to be done. Tests that failed before may still fail; none may fail anew."""
    if after is None or after.state == "not run":
        return Verified(False, "no tests could be run")
    match after.state:
        case "passed":
            return _passed(before, after)
        case "no tests":
            return Verified(False, "there are no tests", denied=_had(before))
        case "timed out":
            return Verified(False, "the tests took too long", denied=True)
        case "crashed":
            return Verified(False, "the tests can't be run", denied=True)
        case "failed":
            return _beside(before, after)


def _passed(before: Outcome | None, after: Outcome) -> Verified:
    """Tests that pass prove something only if none of those before has gone."""
    were = 0 if before is None else _ran(before)
    if were > _ran(after):
        return Verified(False, f"only {_ran(after)} of {were} tests are left", denied=True)
    return Verified(True, f"{_counted(after.passed)} pass{'es' if after.passed == 1 else ''}")


def _had(before: Outcome | None) -> bool:
    return before is not None and _ran(before) > 0


def _ran(outcome: Outcome) -> int:
    return outcome.passed + outcome.failed + outcome.skipped


def _beside(before: Outcome | None, after: Outcome) -> Verified:
    known = {failure.name for failure in before.failures} if before is not None else set[str]()
    new = [failure.name for failure in after.failures if failure.name not in known]
    mended = known - {failure.name for failure in after.failures}
    if new or not after.failures:
        named = f": {', '.join(new[:3])}" if new else ""
        return Verified(False, f"{_fail(after.failed + after.errors)}{named}", denied=True)
    if mended:
        return Verified(False, f"{_still(after)}, {len(mended)} pass now", denied=True)
    return Verified(False, _still(after), denied=True)


def _still(after: Outcome) -> str:
    number = len(after.failures)
    return f"{_counted(number)} that failed before still fail{'s' if number == 1 else ''}"


def _fail(number: int) -> str:
    return f"{_counted(number)} fail{'s' if number == 1 else ''}"


def _counted(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"
