"""Parser of vitest output: the failures between rules, each under its name, and the counts at the end."""

import re
from collections.abc import Iterator

from treadle.toolsets.checks.parsers.lines import join_message
from treadle.toolsets.checks.parsers.tally import Tally, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_NAME = re.compile(r"\s?FAIL\s{1,4}(?:\|[^|]{1,100}\| )?(\S.*)")
_SUITE = re.compile(r"(\S{1,500}) \[ (\S{1,500}) \]$")
_PLACE = re.compile(r"\s{0,4}\u276f (?:.{0,300} )?([^\s:]{1,500}):(\d{1,9}):\d{1,9}$")
_COUNTS = re.compile(r"\s{1,12}(Tests|Errors)  (.+)")
_COUNT = re.compile(r"(\d{1,9}) (passed|failed|skipped|todo|errors?)\b")
_RULE = "⎯⎯⎯"


def read(lines: list[str]) -> Tally:
    """Return the counts, added up where vitest ran more than once."""
    counts = {"passed": 0, "failed": 0, "skipped": 0, "todo": 0, "error": 0, "errors": 0}
    for line in lines:
        for count, word in _COUNT.findall(found[2]) if (found := _COUNTS.match(line)) else ():
            counts[word] += int(count)
    none = any(line.startswith("No test files found") for line in lines)
    seen = none or any(line.startswith(" Test Files ") for line in lines)
    failures = list(dict.fromkeys(_find_failures(lines))) if seen else []
    suites = sum(failure.name == failure.path and failure.name != "" for failure in failures)
    errors = suites + counts["error"] + counts["errors"]
    skipped = counts["skipped"] + counts["todo"]
    return Tally(counts["passed"], counts["failed"], skipped, errors, unique_failures(failures), seen=seen, none=none)


def _find_failures(lines: list[str]) -> Iterator[CheckFailure]:
    """Yield the failures; tests that failed by the same error are named above it together."""
    names: list[str] = []
    block: list[str] = []
    for line in lines:
        if line.startswith(_RULE):
            yield from _share_failure(names, block)
            names, block = [], []
        elif (found := _NAME.match(line)) and not block:
            names.append(found[1])
        elif names:
            block.append(line)


def _share_failure(names: list[str], block: list[str]) -> Iterator[CheckFailure]:
    stack = next((at for at, line in enumerate(block) if _PLACE.match(line)), len(block))
    places = (found for line in block[stack:] if (found := _PLACE.match(line)))
    place = next((found for found in places if "node_modules/" not in found[1]), None)
    message = join_message(block[:stack])
    for name in names:
        suite = _SUITE.match(name)
        if suite:
            yield CheckFailure(suite[1], message, suite[1], int(place[2]) if place and place[1] == suite[1] else None)
        else:
            path, line = (place[1], int(place[2])) if place else (name.partition(" > ")[0], None)
            yield CheckFailure(name, message, path, line)
