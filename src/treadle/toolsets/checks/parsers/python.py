"""Parsers of Python runners: what `reporter` writes while pytest runs, and the output of `python -m unittest -v`.

What pytest itself prints is for people, and differs with every plug-in.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from treadle.toolsets.checks.parsers.tally import Tally, join_message, split_output_lines, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_MARK = re.compile(r"^test-report-[0-9a-f]{16}(?= \{)", re.MULTILINE)
_ERROR_LINE = re.compile(r"E   (.*)")
_PLACE = re.compile(r"(\S+\.py):(\d+): in ")
_SYNTAX = re.compile(r'\s*File "([^"]{1,500})", line (\d{1,9})')
_NONE_FOUND = 5
_GAVE_UP = (2, 3, 4)  # interrupted, a mistake in pytest, a mistake in how it was called
_RULE = "=" * 70
_THIN_RULE = "-" * 70
_HEADING = re.compile(r"(ERROR|FAIL|UNEXPECTED SUCCESS): (.+)")
_TEST = re.compile(r"(\w{1,200}) \(([\w.<>]{1,400})\)(.*)")
_RAN = re.compile(r"Ran (\d{1,9}) tests? in ")
_COUNT = re.compile(r"([a-z ]{1,30})=(\d{1,9})")
_FRAME = re.compile(r'  File "([^"]{1,500})", line (\d{1,9})')
_AROUND = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_NOT_LOADED = "unittest.loader._FailedTest"


class _ReportLine(msgspec.Struct, frozen=True):
    """One line: counts so far, and a test that began, a failure, or the end with all failures and pytest's exit code."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    begun: str = ""
    failures: tuple[CheckFailure, ...] = ()
    code: int | None = None


_decoder = msgspec.json.Decoder(_ReportLine)


def parse_pytest(text: str) -> Tally:
    """Return the final report, if there is one; else what was reported until then."""
    lines = _parse_lines(text)
    end = lines[-1] if lines else _ReportLine()
    if end.code is None:
        last = next((line.begun for line in reversed(lines) if line.begun), "")
        failures = unique_failures(_shorten_import_error(failure) for line in lines for failure in line.failures)
        return Tally(end.passed, end.failed, end.skipped, end.errors, failures, last=last)
    failures, none, broken = (
        unique_failures(map(_shorten_import_error, end.failures)),
        end.code == _NONE_FOUND,
        end.code in _GAVE_UP,
    )
    return Tally(end.passed, end.failed, end.skipped, end.errors, failures, seen=True, none=none, broken=broken)


def strip_report(text: str) -> str:
    """Return pytest's own output."""
    mark = _MARK.search(text)
    if mark is None:
        return text
    return re.sub(rf"\n?^{mark[0]} .*\n?", "", text, flags=re.MULTILINE)


def _parse_lines(text: str) -> list[_ReportLine]:
    mark = _MARK.search(text)
    if mark is None:
        return []
    start = f"{mark[0]} "
    found = (_parse_line(line[len(start) :]) for line in text[mark.start() :].split("\n") if line.startswith(start))
    return [line for line in found if line is not None]


def _parse_line(text: str) -> _ReportLine | None:
    try:
        return _decoder.decode(text.encode(errors="replace"))
    except msgspec.DecodeError:  # cut off
        return None


def _shorten_import_error(failure: CheckFailure) -> CheckFailure:
    """Reduce the traceback of a module that can't be imported to its errors."""
    if failure.path:
        return failure
    lines = split_output_lines(failure.message)
    errors = [found[1] for line in lines if (found := _ERROR_LINE.match(line))]
    places = [found for line in lines if (found := _PLACE.match(line)) and "/lib/python" not in found[1]]
    syntax = [found for line in errors if (found := _SYNTAX.match(line))]
    name, message = failure.name or "collection", join_message(errors or lines)
    if not syntax and not places:
        return CheckFailure(name, message, failure.name.partition("::")[0])
    place = (syntax or places)[-1]
    return CheckFailure(name, message, place[1], int(place[2]))


def parse_unittest(text: str) -> Tally:
    """Return the counts of the last lines; a test that raised has failed, like one whose assertion did not hold."""
    lines = split_output_lines(text)
    end = next((at for at in range(len(lines) - 1, -1, -1) if _RAN.match(lines[at])), None)
    if end is None:
        return Tally(last=_last_test(lines))
    counts = _parse_counts(lines[end:])
    headings = [heading for heading, _ in _find_sections(lines[:end])]
    tests = {_test_label(heading) for heading in headings if heading.startswith(("ERROR", "FAIL")) and not _is_error(heading)}
    failed = len(tests) + counts.get("unexpected successes", 0)  # which older versions don't name
    errors = sum(map(_is_error, headings))
    loaded = sum(_NOT_LOADED in heading for heading in headings)  # counted among those that ran
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    ran = int(_RAN.findall(lines[end])[0])
    passed = max(0, ran - failed - loaded - skipped)
    return Tally(passed, failed, skipped, errors, _find_failures(lines[:end]), seen=True, none=ran == 0)


def _parse_counts(lines: list[str]) -> dict[str, int]:
    result = next((line for line in lines[1:] if line.startswith(("OK", "FAILED"))), "")
    return {name.strip(): int(count) for name, count in _COUNT.findall(result)}


def _find_sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the heading and the lines of every failure."""
    starts = [at for at in range(len(lines) - 1) if lines[at] == _RULE and _HEADING.match(lines[at + 1])]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start + 1], lines[start + 2 : end]


def _find_failures(lines: list[str]) -> tuple[CheckFailure, ...]:
    return unique_failures(_parse_failure(heading, body) for heading, body in _find_sections(lines))


def _parse_failure(heading: str, lines: list[str]) -> CheckFailure:
    if lines and lines[-1] == _THIN_RULE:  # the one before the counts
        lines = lines[:-1]
    body = lines[lines.index(_THIN_RULE) + 1 :] if _THIN_RULE in lines else lines
    message = join_message(_find_message(body)) or heading.partition(":")[0].lower()
    frames = [found for line in body if (found := _FRAME.match(line))]
    own = [frame for frame in frames if "/lib/python" not in frame[1] and "site-packages" not in frame[1]]
    if not frames:
        return CheckFailure(_test_name(heading), message)
    place = (own or frames)[-1]
    return CheckFailure(_test_name(heading), message, place[1], int(place[2]))


def _find_message(body: list[str]) -> list[str]:
    """Return what follows the last frame of the traceback, without the source lines that belong to it."""
    after = next((at + 1 for at in range(len(body) - 1, -1, -1) if _FRAME.match(body[at])), 0)
    while after < len(body) and body[after].startswith("    "):
        after += 1
    return body[after:]


def _is_error(heading: str) -> bool:
    """Return whether not a test failed, but something that tests need."""
    test = _TEST.match(heading.partition(": ")[2])
    return test is not None and (test[1] in _AROUND or test[2].startswith(_NOT_LOADED))


def _test_name(heading: str) -> str:
    """Return a test's name as `-k` takes it."""
    named = heading.partition(": ")[2]
    test = _TEST.match(named)
    if test is None:
        return named
    if test[2].startswith(_NOT_LOADED):
        return test[1]
    return (test[2] if test[2].endswith(f".{test[1]}") else f"{test[2]}.{test[1]}") + test[3]


def _test_label(heading: str) -> str:
    """Return the test, without what distinguishes its subtests."""
    test = _TEST.match(heading.partition(": ")[2])
    return heading if test is None else f"{test[1]} {test[2]}"


def _last_test(lines: list[str]) -> str:
    """Return the test that was running when the run was aborted."""
    for line in reversed(lines):
        test = _TEST.match(line)
        if test is not None:
            return _test_name(f": {test[1]} ({test[2]})")
    return ""
