"""What runners of JavaScript have in common: the frames of a stack, and an error that came before any test."""

import re
from collections.abc import Iterator

from treadle.toolsets.checks.parsers.lines import message_of
from treadle.toolsets.checks.values import Failure

_CALL = re.compile(r"\s*at [^(]{0,300}\((.{1,500}):(\d{1,9}):\d{1,9}\)$")
_PLACE = re.compile(r"\s*at (?:async )?([^()]{1,500}):(\d{1,9}):\d{1,9}$")
_ERROR = re.compile(r"(?:# )?\s{0,8}(?:Exception during run: )?(\w{0,60}(?:Error|Exception)(?: \[\w{1,60}\])?: .+)")
_STACK_WITHIN = 60  # lines between an error and the first frame of its stack
_BETWEEN = re.compile(" \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} | > ")


def frame(line: str) -> tuple[str, int] | None:
    """Path and line of a stack's frame; None for other lines, and for code that isn't the project's."""
    found = _CALL.match(line) or _PLACE.match(line)
    if found is None or "node_modules/" in found[1] or found[1].startswith("node:"):
        return None
    return found[1].removeprefix("file://"), int(found[2])


def is_frame(line: str) -> bool:
    """Whether a line belongs to a stack, whoever's code it is."""
    return line.lstrip("# ").startswith("at ")


def failure(name: str, lines: list[str], path: str = "", number: int | None = None) -> Failure:
    """A failure by the lines below its name: the message goes up to the stack, the first frame of the project is the place."""
    stack = next((at for at, line in enumerate(lines) if is_frame(line)), len(lines))
    place = next((found for line in lines[stack:] if (found := frame(line))), None)
    where, at = place or (path, number)
    return Failure(name, message_of(lines[:stack]), where, at)


def uncaught(lines: list[str]) -> Iterator[Failure]:
    """Errors with a stack, of programs that broke off."""
    frame_at = next((at for at in range(len(lines) - 1, -1, -1) if is_frame(lines[at])), -1)
    errors = (at for at in range(frame_at) if "Error" in lines[at] or "Exception" in lines[at])
    for at in errors:
        error = _ERROR.match(lines[at])
        below = [line.removeprefix("# ") for line in lines[at + 1 : at + _STACK_WITHIN]]
        if error and any(map(is_frame, below)):
            yield failure("before any test", [error[1], *below])


def spelled(name: str) -> str:
    """A test with what it lies in, by blanks, as runners look for it."""
    return _BETWEEN.sub(" ", name)
