"""Parser of the spec output of node's own runner: counts, then the failing tests, each with its location, name and error."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from treadle.toolsets.checks.parsers.javascript import find_uncaught, parse_js_failure
from treadle.toolsets.checks.parsers.tally import Tally, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_COUNT = re.compile(r"\u2139 (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})$")
_TEST = re.compile(r"test at (.{1,500}):(\d{1,9}):\d{1,9}$")
_NAME = re.compile(r"✖ (.+?)(?: \([\d.]{1,20}ms\))?(?: # .*)?$")
_NOT_LOADED = "'test failed'"


def read(lines: list[str]) -> Tally:
    """Parse the output. A file that can't be loaded is reported as a failed test; the error stands above."""
    counts: Counter[str] = Counter()
    for line in lines:
        if found := _COUNT.match(line):
            counts[found[1]] += int(found[2])
    told = list(dict.fromkeys(_find_failures(lines)))
    errors = sum(failure.message == _NOT_LOADED for failure in told)
    failures = unique_failures(attach_load_errors(told, _NOT_LOADED, lines))
    failed = max(0, counts["fail"] + counts["cancelled"] - errors)
    return Tally(counts["pass"], failed, counts["skipped"] + counts["todo"], errors, failures, seen="tests" in counts)


def attach_load_errors(told: list[CheckFailure], sign: str, lines: list[str]) -> Iterator[CheckFailure]:
    """Yield the failures; one that only says that its file could not be loaded gets the next of the errors above."""
    errors = find_uncaught(lines)
    for one in told:
        error = next(errors, None) if one.message == sign else None
        yield one if error is None else CheckFailure(one.name, error.message, error.path or one.path, error.line or one.line)


def _find_failures(lines: list[str]) -> Iterator[CheckFailure]:
    starts = [at for at in range(len(lines) - 1) if _TEST.match(lines[at]) and _NAME.match(lines[at + 1])]
    for start, end in pairwise([*starts, len(lines)]):
        place, name = _TEST.match(lines[start]), _NAME.match(lines[start + 1])
        assert place is not None  # that is how the starts were found
        assert name is not None
        body = _read_body(lines[start + 2 : end])
        yield parse_js_failure(name[1], body, place[1], int(place[2]))


def _read_body(lines: list[str]) -> list[str]:
    """Return the lines that are indented further, which hold the error."""
    end = next((at for at, line in enumerate(lines) if line and not line.startswith("  ")), len(lines))
    return lines[:end]
