"""From a runner's text, its exit code and the clock to an outcome."""

from collections.abc import Callable

from treadle.toolsets.checks.parsers import cargo_text, go_json, npm_text, pytest_report, unittest_text
from treadle.toolsets.checks.parsers.lines import plain
from treadle.toolsets.checks.parsers.tally import Tally, state_of, together
from treadle.toolsets.checks.values import Outcome, Runner

MOST_OUTPUT = 20_000  # characters kept of the output
_READERS: dict[Runner, Callable[[str], Tally]] = {
    "pytest": pytest_report.read,
    "unittest": unittest_text.read,
    "go": go_json.read,
    "cargo": cargo_text.read,
    "command": lambda text: any_of(text),
}
_FOR_PEOPLE: dict[Runner, Callable[[str], str]] = {"pytest": pytest_report.without, "go": go_json.told}


def any_of(text: str) -> Tally:
    """The results in the output of whatever a person runs tests by."""
    found = [tally for read in (unittest_text.read, cargo_text.read) if (tally := read(text)).seen]
    return together(found) if found else npm_text.read(text)


def parse(runner: Runner, text: str, code: int | None, *, timed_out: bool = False) -> Outcome:
    """What came of it. `code` is None where the command was ended from outside."""
    clean = plain(text)
    tally = _READERS.get(runner, npm_text.read)(clean)  # a person's script decides what is written, so all is looked for
    for_people = _FOR_PEOPLE.get(runner, str)(clean)
    return Outcome(
        runner=runner,
        command="",
        passed=tally.passed,
        failed=tally.failed,
        skipped=tally.skipped,
        errors=tally.errors,
        failures=tally.failures,
        state=state_of(tally, code, timed_out=timed_out),
        output=plain(for_people, MOST_OUTPUT),
        seconds=0,
        last=tally.last,
    )
