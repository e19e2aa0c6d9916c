"""Builds an outcome from a runner's output, its exit code and whether it timed out.

A package.json script may start any runners: all results that are found are added up. Where none is known, the last lines may
still count something as passed or failed.
"""

import re
from collections.abc import Callable
from itertools import islice

from treadle.toolsets.checks.parsers.go_rust import go_plain_output, parse_cargo, parse_go
from treadle.toolsets.checks.parsers.javascript import find_uncaught, parse_jest, parse_mocha, parse_node_spec, parse_vitest
from treadle.toolsets.checks.parsers.python import parse_pytest, parse_unittest, strip_report
from treadle.toolsets.checks.parsers.tally import Tally, derive_state, merge_tallies, split_output_lines, to_plain_text
from treadle.toolsets.checks.parsers.tap_text import parse_tap
from treadle.toolsets.checks.values import CheckOutcome, Runner

MAX_OUTPUT = 20_000  # characters kept of the output

_SCRIPT_PARSERS = (  # each with what is in every result that it reads
    (parse_jest, ("Test Suites: ", "No tests found, exiting")),
    (parse_vitest, (" Test Files ", "No test files found")),
    (parse_mocha, (" passing (", "No test files found")),
    (parse_node_spec, ("\N{INFORMATION SOURCE} tests ",)),
    (parse_tap, ("TAP version ", "1..")),
)
_COUNT = re.compile(r"(?<!\d)(\d{1,9})\s{1,4}(?:tests?\s{1,4})?(pass|fail|skip|pending|todo)(?:ed|ing|ped)?\b")
_LAST = 30  # lines in which counts are looked for


def parse_script(text: str) -> Tally:
    """Return all results in the text."""
    lines = split_output_lines(text)
    tallies = (parse(lines) for parse, signs in _SCRIPT_PARSERS if any(sign in text for sign in signs))
    found = [tally for tally in tallies if tally.seen]
    return merge_tallies(found) if found else _count_last_lines(lines)


def _count_last_lines(lines: list[str]) -> Tally:
    counts: dict[str, int] = {}
    for line in lines[-_LAST:]:
        for count, word in _COUNT.findall(line):
            counts.setdefault(word, int(count))
    failures = () if counts else tuple(islice(find_uncaught(lines), 1))
    skipped = sum(counts.get(word, 0) for word in ("skip", "pending", "todo"))
    return Tally(counts.get("pass", 0), counts.get("fail", 0), skipped, failures=failures, seen=bool(counts))


_PARSERS: dict[Runner, Callable[[str], Tally]] = {
    "pytest": parse_pytest,
    "unittest": parse_unittest,
    "go": parse_go,
    "cargo": parse_cargo,
    "command": lambda text: parse_any(text),
}
_FOR_PEOPLE: dict[Runner, Callable[[str], str]] = {"pytest": strip_report, "go": go_plain_output}


def parse_any(text: str) -> Tally:
    """Return the results in the output of a custom test command."""
    found = [tally for parse in (parse_unittest, parse_cargo) if (tally := parse(text)).seen]
    return merge_tallies(found) if found else parse_script(text)


def parse_outcome(runner: Runner, text: str, code: int | None, *, timed_out: bool = False) -> CheckOutcome:
    """Parse the outcome. `code` is None where the command was killed from outside."""
    clean = to_plain_text(text)
    if runner == "check":
        state = "timed out" if timed_out else "crashed" if code is None else "failed" if code else "passed"
        return CheckOutcome(runner, "", 0, 0, 0, 0, (), state, to_plain_text(clean, MAX_OUTPUT), 0)
    tally = _PARSERS.get(runner, parse_script)(clean)  # a person's script decides what is written, so all is looked for
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
