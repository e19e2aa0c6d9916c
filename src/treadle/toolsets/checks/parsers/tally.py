"""Common parts of the parsers: output in lines of bounded length, counts and failures, and the state that follows from them."""

from collections.abc import Iterable, Sequence
from textwrap import dedent

from msgspec import Struct

from treadle.sandbox.output import CommandOutput
from treadle.toolsets.checks.values import CheckFailure, State

MAX_LINE = 2_000  # characters of a line, and of a message
MAX_FAILURES = 50


def to_plain_text(text: str, most: int = 1 << 40) -> str:
    """Return the text without colours, its beginning and end where it is longer than `most`."""
    kept = CommandOutput(most)
    kept.feed(text.encode(errors="replace"))
    kept.close()
    return kept.text


def split_output_lines(text: str) -> list[str]:
    """Split a plain text into lines; overlong ones are cut, so that parsing one is always quick."""
    return [line if len(line) <= MAX_LINE else line[:MAX_LINE] for line in text.split("\n")]


def join_message(lines: list[str]) -> str:
    """Join lines to a message: without shared indentation, or blank lines around them."""
    return to_plain_text(dedent("\n".join(lines)).strip(), MAX_LINE)


def indent_of(line: str) -> int:
    """Return how many blanks a line begins with."""
    return len(line) - len(line.lstrip(" "))


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
