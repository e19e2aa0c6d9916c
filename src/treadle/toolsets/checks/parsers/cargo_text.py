"""Parser of `cargo test` output: the compiler's messages, then for each test program its tests, failures and counts."""

import re
from collections.abc import Iterator

from treadle.toolsets.checks.parsers.lines import join_message, split_output_lines
from treadle.toolsets.checks.parsers.tally import Tally, unique_failures
from treadle.toolsets.checks.values import CheckFailure

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
    """Return the counts of all test programs together."""
    lines = split_output_lines(text)
    results = [[int(count) for count in found.groups()] for line in lines if (found := _RESULT.match(line))]
    passed, failed, skipped = (sum(result[column] for result in results) for column in range(3))
    compiler = list(_find_compiler_errors(lines))
    failures = unique_failures([*compiler, *(_parse_failure(name, block) for name, block in _find_blocks(lines))])
    slow = [found[1] for line in lines if (found := _SLOW.match(line))]
    return Tally(passed, failed, skipped, len(compiler), failures, seen=bool(results), last=slow[-1] if slow else "")


def _find_blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the output of each failing test."""
    name, block = "", list[str]()
    for line in [*lines, "failures:"]:
        begins = _STDOUT.match(line)
        if begins is None and line != "failures:":
            block.append(line)
            continue
        if name:
            yield name, block
        name, block = begins[1] if begins else "", []


def _parse_failure(name: str, block: list[str]) -> CheckFailure:
    for at, line in enumerate(block):
        if panic := _PANIC.match(line):
            return CheckFailure(name, join_message(_until_note(block[at + 1 :])), panic[1], int(panic[2]))
        if panic := _OLD_PANIC.match(line):
            return CheckFailure(name, panic[1], panic[2], int(panic[3]))
    place = next((found for line in block if (found := _NO_PANIC.match(line))), None)
    message = join_message(block)
    return CheckFailure(name, message) if place is None else CheckFailure(name, message, place[1], int(place[2]))


def _until_note(lines: list[str]) -> list[str]:
    end = next((at for at, line in enumerate(lines) if line.startswith(_NO_MESSAGE)), len(lines))
    return lines[:end]


def _find_compiler_errors(lines: list[str]) -> Iterator[CheckFailure]:
    """Yield compiler errors that have a location."""
    for at, line in enumerate(lines[:-1]):
        error = _ERROR.match(line)
        arrow = _ARROW.match(lines[at + 1]) if error else None
        if error and arrow:
            end = next((end for end in range(at + 1, min(at + 30, len(lines))) if not lines[end].strip()), at + 1)
            yield CheckFailure("compile error", join_message([error[1], *lines[at + 2 : end]]), arrow[1], int(arrow[2]))
