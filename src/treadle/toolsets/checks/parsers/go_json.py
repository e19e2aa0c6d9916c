"""Parser of `go test -json` output: an event per line, and among them the compiler's messages, bare in older versions."""

import re
from collections.abc import Iterator

import msgspec

from treadle.toolsets.checks.parsers.lines import MAX_LINE, join_message, split_output_lines
from treadle.toolsets.checks.parsers.tally import Tally, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_FRAMING = re.compile(r"\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|FAIL|SKIP):) ")
_SAID = re.compile(r"\s+(\w[\w.-]{0,200}\.go):(\d{1,9}): ")
_FRAME = re.compile(r"\t(/[^\s:]{1,500}\.go):(\d{1,9})")
_COMPILED = re.compile(r"(?:vet: )?([^\s:]{1,500}\.go):(\d{1,9}):(?:\d{1,9}:)? (.*)")
_UNBUILT = re.compile(r"FAIL\t(\S{1,500}) \[(?:build|setup) failed\]")
_MOST_LINES = 400  # of a test's output


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


def read(text: str) -> Tally:
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
    failures = (_parse_failure(*key, test) for key, test in real.items() if test.end == "failed" and not test.failed_parts)
    counts = ends.count("passed"), ends.count("failed"), ends.count("skipped")
    unbuilt = _find_unbuilt(build)
    last = next((name for (_, name), test in reversed(real.items()) if not test.end), "")
    return Tally(
        *counts, len(unbuilt), unique_failures([*failures, *_find_compiler_errors(build, unbuilt)]), seen=bool(ends), last=last
    )


def to_plain_output(text: str) -> str:
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


def _parse_failure(package: str, name: str, test: _TestState) -> CheckFailure:
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


def _find_compiler_errors(lines: list[str], unbuilt: list[str]) -> Iterator[CheckFailure]:
    """Yield the compiler's messages, each with its location; the packages alone, where there are none."""
    said = [found for line in split_output_lines("\n".join(lines)) if (found := _COMPILED.match(line))] if unbuilt else []
    for found in said:
        yield CheckFailure("compile error", found[3], found[1], int(found[2]))
    if not said:
        yield from (CheckFailure(package, "The package could not be built.") for package in unbuilt)
