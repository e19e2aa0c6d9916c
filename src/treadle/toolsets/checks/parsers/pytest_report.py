"""Reads what `reporter` writes while pytest runs. What pytest itself writes is for people, and differs with every plug-in."""

import re

import msgspec

from treadle.toolsets.checks.parsers.lines import lines_of, message_of
from treadle.toolsets.checks.parsers.tally import Tally, kept
from treadle.toolsets.checks.values import Failure

_MARK = re.compile(r"^test-report-[0-9a-f]{16}(?= \{)", re.MULTILINE)
_ERROR_LINE = re.compile(r"E   (.*)")
_PLACE = re.compile(r"(\S+\.py):(\d+): in ")
_SYNTAX = re.compile(r'\s*File "([^"]{1,500})", line (\d{1,9})')
_NONE_FOUND = 5
_GAVE_UP = (2, 3, 4)  # interrupted, a mistake in pytest, a mistake in how it was called


class _Line(msgspec.Struct, frozen=True):
    """One line: counts until then, and a test begun, a failure, or the end with all failures and pytest's exit code."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    begun: str = ""
    failures: tuple[Failure, ...] = ()
    code: int | None = None


_decoder = msgspec.json.Decoder(_Line)


def read(text: str) -> Tally:
    """The end, if it was told; else what was told until then."""
    lines = _told(text)
    end = lines[-1] if lines else _Line()
    if end.code is None:
        last = next((line.begun for line in reversed(lines) if line.begun), "")
        failures = kept(_clear(failure) for line in lines for failure in line.failures)
        return Tally(end.passed, end.failed, end.skipped, end.errors, failures, last=last)
    failures, none, broken = kept(map(_clear, end.failures)), end.code == _NONE_FOUND, end.code in _GAVE_UP
    return Tally(end.passed, end.failed, end.skipped, end.errors, failures, seen=True, none=none, broken=broken)


def without(text: str) -> str:
    """What pytest itself wrote."""
    mark = _MARK.search(text)
    if mark is None:
        return text
    return re.sub(rf"\n?^{mark[0]} .*\n?", "", text, flags=re.MULTILINE)


def _told(text: str) -> list[_Line]:
    mark = _MARK.search(text)
    if mark is None:
        return []
    start = f"{mark[0]} "
    found = (_line(line[len(start) :]) for line in text[mark.start() :].split("\n") if line.startswith(start))
    return [line for line in found if line is not None]


def _line(text: str) -> _Line | None:
    try:
        return _decoder.decode(text.encode(errors="replace"))
    except msgspec.DecodeError:  # cut off
        return None


def _clear(failure: Failure) -> Failure:
    """A module that can't be imported comes with its whole traceback: only its errors are the message."""
    if failure.path:
        return failure
    lines = lines_of(failure.message)
    errors = [found[1] for line in lines if (found := _ERROR_LINE.match(line))]
    places = [found for line in lines if (found := _PLACE.match(line)) and "/lib/python" not in found[1]]
    syntax = [found for line in errors if (found := _SYNTAX.match(line))]
    name, message = failure.name or "collection", message_of(errors or lines)
    if not syntax and not places:
        return Failure(name, message, failure.name.partition("::")[0])
    place = (syntax or places)[-1]
    return Failure(name, message, place[1], int(place[2]))
