"""Reads what `cargo test` writes: the compiler's words, then for each program of tests its tests, failures and counts."""

import re
from collections.abc import Iterator

from treadle.toolsets.checks.parsers.lines import lines_of, message_of
from treadle.toolsets.checks.parsers.tally import Tally, kept
from treadle.toolsets.checks.values import Failure

_RESULT = re.compile(r"test result: \w{1,10}\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored; ")
_STDOUT = re.compile(r"---- (.{1,400}) stdout ----$")
_PANIC = re.compile(r"thread '.{1,400}' (?:\(\d{1,20}\) )?panicked at (.{1,500}):(\d{1,9}):\d{1,9}:$")
_OLD_PANIC = re.compile(r"thread '.{1,400}' panicked at '(.*)', (.{1,500}):(\d{1,9}):\d{1,9}$")
_NO_PANIC = re.compile(r"note: test did not panic as expected at (\S{1,400}):(\d{1,9}):\d{1,9}$")
_ERROR = re.compile(r"error(?:\[E\d{1,6}\])?: (.*)")
_ARROW = re.compile(r"\s{0,20}--> (\S{1,500}):(\d{1,9}):\d{1,9}$")
_SLOW = re.compile(r"test (.{1,400}) has been running for over ")
_NO_MESSAGE = ("note: ", "stack backtrace:")


def read(text: str) -> Tally:
    """The counts of all programs of tests together."""
    lines = lines_of(text)
    results = [[int(count) for count in found.groups()] for line in lines if (found := _RESULT.match(line))]
    passed, failed, skipped = (sum(result[column] for result in results) for column in range(3))
    compiler = list(_compiled(lines))
    failures = kept([*compiler, *(_failure(name, block) for name, block in _blocks(lines))])
    slow = [found[1] for line in lines if (found := _SLOW.match(line))]
    return Tally(passed, failed, skipped, len(compiler), failures, seen=bool(results), last=slow[-1] if slow else "")


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """What each failing test wrote."""
    name, block = "", list[str]()
    for line in [*lines, "failures:"]:
        begins = _STDOUT.match(line)
        if begins is None and line != "failures:":
            block.append(line)
            continue
        if name:
            yield name, block
        name, block = begins[1] if begins else "", []


def _failure(name: str, block: list[str]) -> Failure:
    for at, line in enumerate(block):
        if panic := _PANIC.match(line):
            return Failure(name, message_of(_until_note(block[at + 1 :])), panic[1], int(panic[2]))
        if panic := _OLD_PANIC.match(line):
            return Failure(name, panic[1], panic[2], int(panic[3]))
    place = next((found for line in block if (found := _NO_PANIC.match(line))), None)
    message = message_of(block)
    return Failure(name, message) if place is None else Failure(name, message, place[1], int(place[2]))


def _until_note(lines: list[str]) -> list[str]:
    end = next((at for at, line in enumerate(lines) if line.startswith(_NO_MESSAGE)), len(lines))
    return lines[:end]


def _compiled(lines: list[str]) -> Iterator[Failure]:
    """Errors of the compiler: those with a place."""
    for at, line in enumerate(lines[:-1]):
        error = _ERROR.match(line)
        arrow = _ARROW.match(lines[at + 1]) if error else None
        if error and arrow:
            end = next((end for end in range(at + 1, min(at + 30, len(lines))) if not lines[end].strip()), at + 1)
            yield Failure("compile error", message_of([error[1], *lines[at + 2 : end]]), arrow[1], int(arrow[2]))
