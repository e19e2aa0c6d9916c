"""Parser of jest output: under each file its failures, each after a dot, and the counts at the end."""

import re
from collections.abc import Iterator

from treadle.toolsets.checks.parsers.javascript import is_frame, parse_js_failure
from treadle.toolsets.checks.parsers.lines import indent_of
from treadle.toolsets.checks.parsers.tally import Tally, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_FILE = re.compile(r"\s?(?:PASS|FAIL)\s{1,4}(\S{1,500})")
_DOT = re.compile(r"  ● (.+)")
_COUNT = re.compile(r"(\d{1,9}) (passed|failed|skipped|todo)\b")
_SOURCE = re.compile(r"\s{0,20}>?\s{0,20}\d{0,9}\s?\|")
_SUITE = "Test suite failed to run"
_OTHER = ("Console",)


def read(lines: list[str]) -> Tally:
    """Return the counts, added up where jest ran more than once."""
    counts = {"passed": 0, "failed": 0, "skipped": 0, "todo": 0}
    for line in lines:
        for count, word in _COUNT.findall(line) if line.startswith("Tests: ") else ():
            counts[word] += int(count)
    blocks = list(dict.fromkeys(_find_failures(lines)))
    errors = sum(block.name.endswith(_SUITE) for block in blocks)
    none = any(line.startswith("No tests found, exiting") for line in lines)
    seen = none or any(line.startswith("Test Suites: ") for line in lines)
    skipped = counts["skipped"] + counts["todo"]
    return Tally(counts["passed"], counts["failed"], skipped, errors, unique_failures(blocks) if seen else (), seen=seen, none=none)


def _find_failures(lines: list[str]) -> Iterator[CheckFailure]:
    file = ""
    for at, line in enumerate(lines):
        if found := _FILE.match(line):
            file = found[1]
        elif (found := _DOT.match(line)) and found[1] not in _OTHER:
            name = f"{file}: {_SUITE}" if found[1] == _SUITE else found[1]
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
