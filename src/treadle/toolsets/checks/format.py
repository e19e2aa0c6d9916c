"""An outcome in a few lines for a model: the counts first, then each failing test with its location and message. Pure."""

from typing import assert_never

from msgspec.structs import replace

from treadle.toolsets.checks.parsers.tally import to_plain_text
from treadle.toolsets.checks.values import CheckFailure, CheckOutcome, State

MAX_LENGTH = 3_000  # characters in all
MAX_FAILURES = 10
_ROOM = 200  # characters a message has in any case
_TAIL = 1_500  # characters of the output's end, where there is nothing better to tell
_ADVICE = (
    "Run fewer of them by path or name, or look for one that waits for something that never comes; "
    "a script that watches files never ends."
)
_CHECK_STATES: dict[State, str] = {
    "passed": "The check passed",
    "failed": "The check failed",
    "timed out": "The check took too long and was ended",
    "crashed": "The check was killed",
}


def format_outcome(outcome: CheckOutcome, *, verbose: bool = False) -> str:
    """Format an outcome for a model. `verbose` adds the end of the output, as far as there is room."""
    first = _format_headline(outcome)
    if outcome.state == "not run":
        return first
    parts = [first, *_format_failures(outcome, MAX_LENGTH - len(first) - (_TAIL if verbose else 0))]
    told = len(parts) > 1 or outcome.state == "passed"
    if outcome.output.strip() and (verbose or not told):
        parts.append(f"The end of the output:\n{_tail(outcome.output, min(_TAIL, MAX_LENGTH - sum(map(len, parts))))}")
    return "\n\n".join(parts)


def shorten_outcome(outcome: CheckOutcome) -> CheckOutcome:
    """Shorten an outcome for storage with a result: at most what the model sees, and the counts of all."""
    failures = [replace(each, message=each.message[:_TAIL]) for each in outcome.failures[:MAX_FAILURES]]
    return replace(outcome, failures=tuple(failures), output=_tail(outcome.output, _TAIL))


def format_counts(outcome: CheckOutcome) -> str:
    """Format how many passed and how many didn't: `2 passed, 1 failed`."""
    named = {
        "passed": outcome.passed,
        "failed": outcome.failed,
        "error" if outcome.errors == 1 else "errors": outcome.errors,
        "skipped": outcome.skipped,
    }
    return ", ".join(f"{count} {name}" for name, count in named.items() if count)


def _format_headline(outcome: CheckOutcome) -> str:
    how = f"{outcome.command}, {outcome.seconds:.1f} s" + (f", run {outcome.runs} times" if outcome.runs > 1 else "")
    if outcome.runner == "check":
        return f"There are no tests. {_CHECK_STATES[outcome.state]} ({how})."
    counts = f": {counts}" if (counts := format_counts(outcome)) else ""
    match outcome.state:
        case "passed":
            return f"Passed{counts} ({how})."
        case "failed":
            alone = "" if outcome.failed or outcome.errors else " No test failed, but the command ended with an error."
            return f"Failed{counts} ({how}).{alone}"
        case "no tests":
            return f"No tests ran{counts} ({how}). Nothing was tested."
        case "crashed":
            return f"The tests could not be run to their end{counts} ({how}).{_format_last(outcome)}"
        case "timed out":
            return f"The tests took too long and were ended{counts} ({how}).{_format_last(outcome)} {_ADVICE}"
        case "not run":
            return f"The tests were not run. {outcome.output}"
        case _:
            assert_never(outcome.state)


def _format_last(outcome: CheckOutcome) -> str:
    return f" The last test begun was {outcome.last}." if outcome.last else ""


def _format_failures(outcome: CheckOutcome, room: int) -> list[str]:
    """Format each failure with as much of its message as there is room for."""
    if outcome.state in ("passed", "no tests"):
        return []
    some = outcome.failures[:MAX_FAILURES]
    parts: list[str] = []
    for left, failure in zip(range(len(some), 0, -1), some, strict=True):
        parts.append(_format_failure(failure, max(_ROOM, room // left)))
        room -= len(parts[-1]) + 2
    more = max(len(outcome.failures), outcome.failed + outcome.errors) - len(some)
    return [*parts, f"And {more} more."] if more > 0 and parts else parts


def _format_failure(failure: CheckFailure, room: int) -> str:
    place = f" ({failure.path}{'' if failure.line is None else f':{failure.line}'})" if failure.path else ""
    head = f"{to_plain_text(failure.name, _ROOM)}{place}"
    message = to_plain_text(failure.message, max(_ROOM, room - len(head) - 40))
    return head + "".join(f"\n  {line}".rstrip(" ") for line in message.split("\n")) if message else head


def _tail(output: str, most: int) -> str:
    text = output.strip()
    return text if len(text) <= most else f"…{text[-most:]}"
