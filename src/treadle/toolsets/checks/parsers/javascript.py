"""Parsers of JavaScript runners: jest, vitest, mocha, and the spec output of node's own; and the stack frames they share."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from treadle.toolsets.checks.parsers.tally import Tally, indent_of, join_message, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_CALL = re.compile(r"\s*at [^(]{0,300}\((.{1,500}):(\d{1,9}):\d{1,9}\)$")
_PLACE = re.compile(r"\s*at (?:async )?([^()]{1,500}):(\d{1,9}):\d{1,9}$")
_ERROR = re.compile(r"(?:# )?\s{0,8}(?:Exception during run: )?(\w{0,60}(?:Error|Exception)(?: \[\w{1,60}\])?: .+)")
_STACK_WITHIN = 60  # lines between an error and the first frame of its stack
_BETWEEN = re.compile(" \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} | > ")
_FILE = re.compile(r"\s?(?:PASS|FAIL)\s{1,4}(\S{1,500})")
_DOT = re.compile(r"  ● (.+)")
_JEST_COUNT = re.compile(r"(\d{1,9}) (passed|failed|skipped|todo)\b")
_SOURCE = re.compile(r"\s{0,20}>?\s{0,20}\d{0,9}\s?\|")
_JEST_SUITE = "Test suite failed to run"
_JEST_OTHER = ("Console",)
_VITEST_NAME = re.compile(r"\s?FAIL\s{1,4}(?:\|[^|]{1,100}\| )?(\S.*)")
_VITEST_SUITE = re.compile(r"(\S{1,500}) \[ (\S{1,500}) \]$")
_VITEST_PLACE = re.compile(r"\s{0,4}\u276f (?:.{0,300} )?([^\s:]{1,500}):(\d{1,9}):\d{1,9}$")
_COUNTS = re.compile(r"\s{1,12}(Tests|Errors)  (.+)")
_VITEST_COUNT = re.compile(r"(\d{1,9}) (passed|failed|skipped|todo|errors?)\b")
_RULE = "⎯⎯⎯"
_PASSING = re.compile(r"\s{1,8}(\d{1,9}) passing \(")
_MOCHA_OTHER = re.compile(r"\s{1,8}(\d{1,9}) (pending|failing)$")
_NUMBER = re.compile(r"  (\d{1,9})\) (.+)")
_NONE = "Error: No test files found"
_SPEC_COUNT = re.compile(r"\u2139 (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})$")
_TEST = re.compile(r"test at (.{1,500}):(\d{1,9}):\d{1,9}$")
_SPEC_NAME = re.compile(r"✖ (.+?)(?: \([\d.]{1,20}ms\))?(?: # .*)?$")
_NOT_LOADED = "'test failed'"


def parse_frame(line: str) -> tuple[str, int] | None:
    """Return path and line of a stack frame; None for other lines, and for code outside the project."""
    found = _CALL.match(line) or _PLACE.match(line)
    if found is None or "node_modules/" in found[1] or found[1].startswith("node:"):
        return None
    return found[1].removeprefix("file://"), int(found[2])


def is_frame(line: str) -> bool:
    """Return whether a line belongs to a stack trace, of any code."""
    return line.lstrip("# ").startswith("at ")


def parse_js_failure(name: str, lines: list[str], path: str = "", number: int | None = None) -> CheckFailure:
    """Parse a failure from the lines below its name: the message up to the stack, and the project's first frame as location."""
    stack = next((at for at, line in enumerate(lines) if is_frame(line)), len(lines))
    place = next((found for line in lines[stack:] if (found := parse_frame(line))), None)
    where, at = place or (path, number)
    return CheckFailure(name, join_message(lines[:stack]), where, at)


def find_uncaught(lines: list[str]) -> Iterator[CheckFailure]:
    """Yield errors with a stack trace, of programs that crashed."""
    frame_at = next((at for at in range(len(lines) - 1, -1, -1) if is_frame(lines[at])), -1)
    errors = (at for at in range(frame_at) if "Error" in lines[at] or "Exception" in lines[at])
    for at in errors:
        error = _ERROR.match(lines[at])
        below = [line.removeprefix("# ") for line in lines[at + 1 : at + _STACK_WITHIN]]
        if error and any(map(is_frame, below)):
            yield parse_js_failure("before any test", [error[1], *below])


def normalize_title(name: str) -> str:
    """Return a test with its enclosing titles, separated by blanks, as runners search for it."""
    return _BETWEEN.sub(" ", name)


def parse_jest(lines: list[str]) -> Tally:
    """Return the counts, added up where jest ran more than once."""
    counts = {"passed": 0, "failed": 0, "skipped": 0, "todo": 0}
    for line in lines:
        for count, word in _JEST_COUNT.findall(line) if line.startswith("Tests: ") else ():
            counts[word] += int(count)
    blocks = list(dict.fromkeys(_find_jest_failures(lines)))
    errors = sum(block.name.endswith(_JEST_SUITE) for block in blocks)
    none = any(line.startswith("No tests found, exiting") for line in lines)
    seen = none or any(line.startswith("Test Suites: ") for line in lines)
    skipped = counts["skipped"] + counts["todo"]
    return Tally(counts["passed"], counts["failed"], skipped, errors, unique_failures(blocks) if seen else (), seen=seen, none=none)


def _find_jest_failures(lines: list[str]) -> Iterator[CheckFailure]:
    file = ""
    for at, line in enumerate(lines):
        if found := _FILE.match(line):
            file = found[1]
        elif (found := _DOT.match(line)) and found[1] not in _JEST_OTHER:
            name = f"{file}: {_JEST_SUITE}" if found[1] == _JEST_SUITE else found[1]
            yield parse_js_failure(name, _without_source(_read_block(lines, at + 1)), file)


def _read_block(lines: list[str], start: int) -> list[str]:
    """Return the lines below a name, which are indented further."""
    end = start
    while end < len(lines) and (not lines[end].strip() or indent_of(lines[end]) >= 4):
        end += 1
    return lines[start:end]


def _without_source(block: list[str]) -> list[str]:
    """Return the message and the stack; the source lines between them are in the file."""
    return [line for line in block if is_frame(line) or not _SOURCE.match(line)]


def parse_vitest(lines: list[str]) -> Tally:
    """Return the counts, added up where vitest ran more than once."""
    counts = {"passed": 0, "failed": 0, "skipped": 0, "todo": 0, "error": 0, "errors": 0}
    for line in lines:
        for count, word in _VITEST_COUNT.findall(found[2]) if (found := _COUNTS.match(line)) else ():
            counts[word] += int(count)
    none = any(line.startswith("No test files found") for line in lines)
    seen = none or any(line.startswith(" Test Files ") for line in lines)
    failures = list(dict.fromkeys(_find_vitest_failures(lines))) if seen else []
    suites = sum(failure.name == failure.path and failure.name != "" for failure in failures)
    errors = suites + counts["error"] + counts["errors"]
    skipped = counts["skipped"] + counts["todo"]
    return Tally(counts["passed"], counts["failed"], skipped, errors, unique_failures(failures), seen=seen, none=none)


def _find_vitest_failures(lines: list[str]) -> Iterator[CheckFailure]:
    """Yield the failures; tests that failed by the same error are named above it together."""
    names: list[str] = []
    block: list[str] = []
    for line in lines:
        if line.startswith(_RULE):
            yield from _share_failure(names, block)
            names, block = [], []
        elif (found := _VITEST_NAME.match(line)) and not block:
            names.append(found[1])
        elif names:
            block.append(line)


def _share_failure(names: list[str], block: list[str]) -> Iterator[CheckFailure]:
    stack = next((at for at, line in enumerate(block) if _VITEST_PLACE.match(line)), len(block))
    places = (found for line in block[stack:] if (found := _VITEST_PLACE.match(line)))
    place = next((found for found in places if "node_modules/" not in found[1]), None)
    message = join_message(block[:stack])
    for name in names:
        suite = _VITEST_SUITE.match(name)
        if suite:
            yield CheckFailure(suite[1], message, suite[1], int(place[2]) if place and place[1] == suite[1] else None)
        else:
            path, line = (place[1], int(place[2])) if place else (name.partition(" > ")[0], None)
            yield CheckFailure(name, message, path, line)


def parse_mocha(lines: list[str]) -> Tally:
    """Return the counts, which stand together; a hook that failed is no test."""
    starts = [at for at, line in enumerate(lines) if _PASSING.match(line)]
    none = any(line.startswith(_NONE) for line in lines)
    passed = sum(int(_PASSING.findall(lines[at])[0]) for at in starts)
    counts = {"pending": 0, "failing": 0}
    failures: list[CheckFailure] = []
    for start, end in pairwise([*starts, len(lines)]):
        for line in lines[start + 1 : start + 3]:
            if found := _MOCHA_OTHER.match(line):
                counts[found[2]] += int(found[1])
        failures += _find_mocha_failures(lines[start:end])
    hooks = sum('" hook' in failure.name for failure in failures)
    failed = max(0, counts["failing"] - hooks)
    return Tally(passed, failed, counts["pending"], hooks, unique_failures(failures), seen=bool(starts) or none, none=none)


def _find_mocha_failures(lines: list[str]) -> Iterator[CheckFailure]:
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


def parse_node_spec(lines: list[str]) -> Tally:
    """Parse the output. A file that can't be loaded is reported as a failed test; the error stands above."""
    counts: Counter[str] = Counter()
    for line in lines:
        if found := _SPEC_COUNT.match(line):
            counts[found[1]] += int(found[2])
    told = list(dict.fromkeys(_find_spec_failures(lines)))
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


def _find_spec_failures(lines: list[str]) -> Iterator[CheckFailure]:
    starts = [at for at in range(len(lines) - 1) if _TEST.match(lines[at]) and _SPEC_NAME.match(lines[at + 1])]
    for start, end in pairwise([*starts, len(lines)]):
        place, name = _TEST.match(lines[start]), _SPEC_NAME.match(lines[start + 1])
        assert place is not None  # that is how the starts were found
        assert name is not None
        body = _read_body(lines[start + 2 : end])
        yield parse_js_failure(name[1], body, place[1], int(place[2]))


def _read_body(lines: list[str]) -> list[str]:
    """Return the lines that are indented further, which hold the error."""
    end = next((at for at, line in enumerate(lines) if line and not line.startswith("  ")), len(lines))
    return lines[:end]
