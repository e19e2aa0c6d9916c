"""Parser of mocha output: counts, then the failures, each with a number, its increasingly indented titles, and a stack."""

import re
from collections.abc import Iterator
from itertools import pairwise

from treadle.toolsets.checks.parsers.javascript import parse_js_failure
from treadle.toolsets.checks.parsers.lines import indent_of
from treadle.toolsets.checks.parsers.tally import Tally, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_PASSING = re.compile(r"\s{1,8}(\d{1,9}) passing \(")
_OTHER = re.compile(r"\s{1,8}(\d{1,9}) (pending|failing)$")
_NUMBER = re.compile(r"  (\d{1,9})\) (.+)")
_NONE = "Error: No test files found"


def read(lines: list[str]) -> Tally:
    """Return the counts, which stand together; a hook that failed is no test."""
    starts = [at for at, line in enumerate(lines) if _PASSING.match(line)]
    none = any(line.startswith(_NONE) for line in lines)
    passed = sum(int(_PASSING.findall(lines[at])[0]) for at in starts)
    counts = {"pending": 0, "failing": 0}
    failures: list[CheckFailure] = []
    for start, end in pairwise([*starts, len(lines)]):
        for line in lines[start + 1 : start + 3]:
            if found := _OTHER.match(line):
                counts[found[2]] += int(found[1])
        failures += _find_failures(lines[start:end])
    hooks = sum('" hook' in failure.name for failure in failures)
    failed = max(0, counts["failing"] - hooks)
    return Tally(passed, failed, counts["pending"], hooks, unique_failures(failures), seen=bool(starts) or none, none=none)


def _find_failures(lines: list[str]) -> Iterator[CheckFailure]:
    starts = [at for at, line in enumerate(lines) if _NUMBER.match(line)]
    for start, end in pairwise([*starts, len(lines)]):
        titles = _read_titles(lines[start:end])
        name = " > ".join(title.strip() for title in titles).partition(") ")[2].removesuffix(":")
        yield parse_js_failure(name, [line for line in lines[start + len(titles) : end] if line.strip() != "+ expected - actual"])


def _read_titles(lines: list[str]) -> list[str]:
    """Return the first lines, each indented further than the one before, up to the one that ends with a colon."""
    end = 1
    while end < len(lines) and not lines[end - 1].endswith(":") and indent_of(lines[end]) > indent_of(lines[end - 1]):
        end += 1
    return lines[:end]
