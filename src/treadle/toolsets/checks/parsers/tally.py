"""Result of a parser before exit code and timeout are considered; and the state that follows from all three."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle.toolsets.checks.values import CheckFailure, State

MAX_FAILURES = 50


class Tally(Struct, frozen=True):
    """Counts and failures. `seen`: the runner reported its result; `none`: it found no tests; `broken`: it gave up."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    failures: tuple[CheckFailure, ...] = ()
    seen: bool = False
    none: bool = False
    broken: bool = False
    last: str = ""


def merge_tallies(tallies: Sequence[Tally]) -> Tally:
    """Merge several tallies, for a script that starts more than one runner."""
    return Tally(
        sum(tally.passed for tally in tallies),
        sum(tally.failed for tally in tallies),
        sum(tally.skipped for tally in tallies),
        sum(tally.errors for tally in tallies),
        unique_failures(failure for tally in tallies for failure in tally.failures),
        any(tally.seen for tally in tallies),
        any(tally.none for tally in tallies),
        any(tally.broken for tally in tallies),
        next((tally.last for tally in reversed(tallies) if tally.last), ""),
    )


def unique_failures(failures: Iterable[CheckFailure]) -> tuple[CheckFailure, ...]:
    """Return the first of each, up to a limit; runners repeat failures in their summary."""
    return tuple(dict.fromkeys(failures))[:MAX_FAILURES]


def derive_state(tally: Tally, code: int | None, *, timed_out: bool) -> State:
    """Return the state. Nothing passes that wasn't seen to pass to the end, whatever the exit code says."""
    if timed_out:
        return "timed out"
    ran = tally.passed or tally.failed
    if code is None or tally.broken or (ran and not tally.seen):
        return "crashed"
    if tally.failed or tally.errors:
        return "failed" if ran else "crashed"
    if ran:
        return "passed" if code == 0 else "failed"
    return "no tests" if code == 0 or tally.none else "crashed"
