"""Reads what `python -m unittest -v` writes: a line for each test, then the failures, then the counts."""

import re
from collections.abc import Iterator
from itertools import pairwise

from treadle.toolsets.checks.parsers.lines import lines_of, message_of
from treadle.toolsets.checks.parsers.tally import Tally, kept
from treadle.toolsets.checks.values import Failure

_RULE = "=" * 70
_THIN_RULE = "-" * 70
_HEADING = re.compile(r"(ERROR|FAIL|UNEXPECTED SUCCESS): (.+)")
_TEST = re.compile(r"(\w{1,200}) \(([\w.<>]{1,400})\)(.*)")
_RAN = re.compile(r"Ran (\d{1,9}) tests? in ")
_COUNT = re.compile(r"([a-z ]{1,30})=(\d{1,9})")
_FRAME = re.compile(r'  File "([^"]{1,500})", line (\d{1,9})')
_AROUND = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_NOT_LOADED = "unittest.loader._FailedTest"


def read(text: str) -> Tally:
    """Counts by the last lines; a test that raised has failed, like one whose assertion did not hold."""
    lines = lines_of(text)
    end = next((at for at in range(len(lines) - 1, -1, -1) if _RAN.match(lines[at])), None)
    if end is None:
        return Tally(last=_last(lines))
    counts = _counts(lines[end:])
    headings = [heading for heading, _ in _sections(lines[:end])]
    tests = {_test(heading) for heading in headings if heading.startswith(("ERROR", "FAIL")) and not _is_error(heading)}
    failed = len(tests) + counts.get("unexpected successes", 0)  # which older versions don't name
    errors = sum(map(_is_error, headings))
    loaded = sum(_NOT_LOADED in heading for heading in headings)  # counted among those that ran
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    ran = int(_RAN.findall(lines[end])[0])
    passed = max(0, ran - failed - loaded - skipped)
    return Tally(passed, failed, skipped, errors, _failures(lines[:end]), seen=True, none=ran == 0)


def _counts(lines: list[str]) -> dict[str, int]:
    result = next((line for line in lines[1:] if line.startswith(("OK", "FAILED"))), "")
    return {name.strip(): int(count) for name, count in _COUNT.findall(result)}


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The heading and the lines of every failure."""
    starts = [at for at in range(len(lines) - 1) if lines[at] == _RULE and _HEADING.match(lines[at + 1])]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start + 1], lines[start + 2 : end]


def _failures(lines: list[str]) -> tuple[Failure, ...]:
    return kept(_failure(heading, body) for heading, body in _sections(lines))


def _failure(heading: str, lines: list[str]) -> Failure:
    if lines and lines[-1] == _THIN_RULE:  # the one before the counts
        lines = lines[:-1]
    body = lines[lines.index(_THIN_RULE) + 1 :] if _THIN_RULE in lines else lines
    message = message_of(_message(body)) or heading.partition(":")[0].lower()
    frames = [found for line in body if (found := _FRAME.match(line))]
    own = [frame for frame in frames if "/lib/python" not in frame[1] and "site-packages" not in frame[1]]
    if not frames:
        return Failure(_name(heading), message)
    place = (own or frames)[-1]
    return Failure(_name(heading), message, place[1], int(place[2]))


def _message(body: list[str]) -> list[str]:
    """What follows the last frame of the traceback, and the lines of source that belong to it."""
    after = next((at + 1 for at in range(len(body) - 1, -1, -1) if _FRAME.match(body[at])), 0)
    while after < len(body) and body[after].startswith("    "):
        after += 1
    return body[after:]


def _is_error(heading: str) -> bool:
    """Whether it is no test that failed, but what tests need."""
    test = _TEST.match(heading.partition(": ")[2])
    return test is not None and (test[1] in _AROUND or test[2].startswith(_NOT_LOADED))


def _name(heading: str) -> str:
    """A test as `-k` takes it."""
    named = heading.partition(": ")[2]
    test = _TEST.match(named)
    if test is None:
        return named
    if test[2].startswith(_NOT_LOADED):
        return test[1]
    return (test[2] if test[2].endswith(f".{test[1]}") else f"{test[2]}.{test[1]}") + test[3]


def _test(heading: str) -> str:
    """The test, without what tells its parts from each other."""
    test = _TEST.match(heading.partition(": ")[2])
    return heading if test is None else f"{test[1]} {test[2]}"


def _last(lines: list[str]) -> str:
    """The test that was running when it was broken off."""
    for line in reversed(lines):
        test = _TEST.match(line)
        if test is not None:
            return _name(f": {test[1]} ({test[2]})")
    return ""
