"""Parsers of `go test -json` and of `cargo test`: the messages of the compiler, the tests, and their failures."""

import re
from collections.abc import Iterator

import msgspec

from treadle.toolsets.checks.parsers.tally import MAX_LINE, Tally, join_message, split_output_lines, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_FRAMING = re.compile(r"\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|FAIL|SKIP):) ")
_SAID = re.compile(r"\s+(\w[\w.-]{0,200}\.go):(\d{1,9}): ")
_FRAME = re.compile(r"\t(/[^\s:]{1,500}\.go):(\d{1,9})")
_COMPILED = re.compile(r"(?:vet: )?([^\s:]{1,500}\.go):(\d{1,9}):(?:\d{1,9}:)? (.*)")
_UNBUILT = re.compile(r"FAIL\t(\S{1,500}) \[(?:build|setup) failed\]")
_MOST_LINES = 400  # of a test's output
_RESULT = re.compile(r"test result: \w{1,10}\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored; ")
_STDOUT = re.compile(r"---- (.{1,400}) stdout ----$")
_PANIC = re.compile(r"thread '.{1,400}' (?:\(\d{1,20}\) )?panicked at (.{1,500}):(\d{1,9}):\d{1,9}:$")
_OLD_PANIC = re.compile(r"thread '.{1,400}' panicked at '(.*)', (.{1,500}):(\d{1,9}):\d{1,9}$")
_NO_PANIC = re.compile(r"note: test did not panic as expected at (\S{1,400}):(\d{1,9}):\d{1,9}$")
_ERROR = re.compile(r"error(?:\[E\d{1,6}\])?: (.*)")
_ARROW = re.compile(r"\s{0,20}--> (\S{1,500}):(\d{1,9}):\d{1,9}$")
_SLOW = re.compile(r"test (.{1,400}) has been running for over ")
_NO_MESSAGE = ("note: ", "stack backtrace:")


class _Event(msgspec.Struct, frozen=True, rename="pascal"):
    action: str = ""
    package: str = ""
    test: str = ""
    output: str = ""


class _TestState:
    """State of a test while its events come in."""

    def __init__(self) -> None:
        self.begun = False
        self.end = ""
        self.parts = 0
        self.failed_parts = 0
        self.lines: list[str] = []


_decoder = msgspec.json.Decoder(_Event)


def parse_go(text: str) -> Tally:
    """Count the tests that have no subtests; a test with subtests counts where only it has failed."""
    tests: dict[tuple[str, str], _TestState] = {}
    build: list[str] = []
    for event in _parse_events(text):
        if event.test:
            _update_test(tests.setdefault((event.package, event.test), _TestState()), event)
        elif event.output:
            build.append(event.output.rstrip("\n"))
    _count_parts(tests)
    real = {key: test for key, test in tests.items() if test.begun}  # what tests print can look like the end of one
    ends = [test.end for test in real.values() if not test.parts or (test.end == "failed" and not test.failed_parts)]
    failures = (_parse_go_failure(*key, test) for key, test in real.items() if test.end == "failed" and not test.failed_parts)
    counts = ends.count("passed"), ends.count("failed"), ends.count("skipped")
    unbuilt = _find_unbuilt(build)
    last = next((name for (_, name), test in reversed(real.items()) if not test.end), "")
    return Tally(
        *counts, len(unbuilt), unique_failures([*failures, *_find_go_compiler_errors(build, unbuilt)]), seen=bool(ends), last=last
    )


def go_plain_output(text: str) -> str:
    """Return the plain output."""
    return "".join(event.output if event.action else f"{event.output}\n" for event in _parse_events(text))


def _parse_events(text: str) -> Iterator[_Event]:
    for line in text.split("\n"):
        if not line.startswith("{"):
            yield _Event(output=line[:MAX_LINE])
            continue
        try:
            yield _decoder.decode(line.encode(errors="replace"))
        except msgspec.DecodeError:  # cut off, or printed by a test
            continue


def _update_test(test: _TestState, event: _Event) -> None:
    if event.action == "run":
        test.begun = True
    elif event.action in _ENDS:
        test.end = _ENDS[event.action]
    elif event.output and len(test.lines) < _MOST_LINES and not _FRAMING.match(event.output):
        test.lines.append(event.output.rstrip("\n")[:MAX_LINE])


def _count_parts(tests: dict[tuple[str, str], _TestState]) -> None:
    for (package, name), test in tests.items():
        whole = tests.get((package, name.rpartition("/")[0]))
        if whole is not None:
            whole.parts += 1
            whole.failed_parts += test.end == "failed"


def _parse_go_failure(package: str, name: str, test: _TestState) -> CheckFailure:
    """Parse a failure. Paths in a test's output are relative to its package's folder; in a panic they are absolute."""
    panic = next((at for at, line in enumerate(test.lines) if line.startswith("panic: ")), None)
    if panic is not None:
        frames = (found for line in test.lines[panic:] if (found := _FRAME.match(line)))
        place = next((frame for frame in frames if not re.search(r"/src/(testing|runtime)/", frame[1])), None)
        message = test.lines[panic].partition(" [recovered")[0]
        return CheckFailure(name, message) if place is None else CheckFailure(name, message, place[1], int(place[2]))
    said = [found for line in test.lines if (found := _SAID.match(line))]
    message = join_message(test.lines)
    return CheckFailure(name, message, f"{package}/{said[-1][1]}", int(said[-1][2])) if said else CheckFailure(name, message)


def _find_unbuilt(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(found[1] for line in lines if (found := _UNBUILT.match(line))))


def _find_go_compiler_errors(lines: list[str], unbuilt: list[str]) -> Iterator[CheckFailure]:
    """Yield the compiler's messages, each with its location; the packages alone, where there are none."""
    said = [found for line in split_output_lines("\n".join(lines)) if (found := _COMPILED.match(line))] if unbuilt else []
    for found in said:
        yield CheckFailure("compile error", found[3], found[1], int(found[2]))
    if not said:
        yield from (CheckFailure(package, "The package could not be built.") for package in unbuilt)


def parse_cargo(text: str) -> Tally:
    """Return the counts of all test programs together."""
    lines = split_output_lines(text)
    results = [[int(count) for count in found.groups()] for line in lines if (found := _RESULT.match(line))]
    passed, failed, skipped = (sum(result[column] for result in results) for column in range(3))
    compiler = list(_find_cargo_compiler_errors(lines))
    failures = unique_failures([*compiler, *(_parse_cargo_failure(name, block) for name, block in _find_blocks(lines))])
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


def _parse_cargo_failure(name: str, block: list[str]) -> CheckFailure:
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


def _find_cargo_compiler_errors(lines: list[str]) -> Iterator[CheckFailure]:
    """Yield compiler errors that have a location."""
    for at, line in enumerate(lines[:-1]):
        error = _ERROR.match(line)
        arrow = _ARROW.match(lines[at + 1]) if error else None
        if error and arrow:
            end = next((end for end in range(at + 1, min(at + 30, len(lines))) if not lines[end].strip()), at + 1)
            yield CheckFailure("compile error", join_message([error[1], *lines[at + 2 : end]]), arrow[1], int(arrow[2]))
