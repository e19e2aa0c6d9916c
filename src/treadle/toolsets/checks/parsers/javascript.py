"""Shared code of the JavaScript parsers: stack frames, and errors that came before any test."""

import re
from collections.abc import Iterator

from treadle.toolsets.checks.parsers.lines import join_message
from treadle.toolsets.checks.values import CheckFailure

_CALL = re.compile(r"\s*at [^(]{0,300}\((.{1,500}):(\d{1,9}):\d{1,9}\)$")
_PLACE = re.compile(r"\s*at (?:async )?([^()]{1,500}):(\d{1,9}):\d{1,9}$")
_ERROR = re.compile(r"(?:# )?\s{0,8}(?:Exception during run: )?(\w{0,60}(?:Error|Exception)(?: \[\w{1,60}\])?: .+)")
_STACK_WITHIN = 60  # lines between an error and the first frame of its stack
_BETWEEN = re.compile(" \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} | > ")


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
