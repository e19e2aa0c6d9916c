"""Builds an outcome from a runner's output, its exit code and whether it timed out."""

from collections.abc import Callable

from treadle.toolsets.checks.parsers import cargo_text, go_json, npm_text, pytest_report, unittest_text
from treadle.toolsets.checks.parsers.lines import to_plain_text
from treadle.toolsets.checks.parsers.tally import Tally, derive_state, merge_tallies
from treadle.toolsets.checks.values import CheckOutcome, Runner

MAX_OUTPUT = 20_000  # characters kept of the output
_READERS: dict[Runner, Callable[[str], Tally]] = {
    "pytest": pytest_report.read,
    "unittest": unittest_text.read,
    "go": go_json.read,
    "cargo": cargo_text.read,
    "command": lambda text: parse_any(text),
}
_FOR_PEOPLE: dict[Runner, Callable[[str], str]] = {"pytest": pytest_report.strip_report, "go": go_json.to_plain_output}


def parse_any(text: str) -> Tally:
    """Return the results in the output of a custom test command."""
    found = [tally for read in (unittest_text.read, cargo_text.read) if (tally := read(text)).seen]
    return merge_tallies(found) if found else npm_text.read(text)


def parse_outcome(runner: Runner, text: str, code: int | None, *, timed_out: bool = False) -> CheckOutcome:
    """Parse the outcome. `code` is None where the command was killed from outside."""
    clean = to_plain_text(text)
    if runner == "check":
        state = "timed out" if timed_out else "crashed" if code is None else "failed" if code else "passed"
        return CheckOutcome(runner, "", 0, 0, 0, 0, (), state, to_plain_text(clean, MAX_OUTPUT), 0)
    tally = _READERS.get(runner, npm_text.read)(clean)  # a person's script decides what is written, so all is looked for
    for_people = _FOR_PEOPLE.get(runner, str)(clean)
    return CheckOutcome(
        runner=runner,
        command="",
        passed=tally.passed,
        failed=tally.failed,
        skipped=tally.skipped,
        errors=tally.errors,
        failures=tally.failures,
        state=derive_state(tally, code, timed_out=timed_out),
        output=to_plain_text(for_people, MAX_OUTPUT),
        seconds=0,
        last=tally.last,
    )
