"""Parser of what `reporter` writes while pytest runs. What pytest itself prints is for people, and differs with every plug-in."""

import re

import msgspec

from treadle.toolsets.checks.parsers.lines import join_message, split_output_lines
from treadle.toolsets.checks.parsers.tally import Tally, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_MARK = re.compile(r"^test-report-[0-9a-f]{16}(?= \{)", re.MULTILINE)
_ERROR_LINE = re.compile(r"E   (.*)")
_PLACE = re.compile(r"(\S+\.py):(\d+): in ")
_SYNTAX = re.compile(r'\s*File "([^"]{1,500})", line (\d{1,9})')
_NONE_FOUND = 5
_GAVE_UP = (2, 3, 4)  # interrupted, a mistake in pytest, a mistake in how it was called


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


def read(text: str) -> Tally:
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
