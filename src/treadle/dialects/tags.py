"""Moves for reading tags as they arrive: which comes next, what space there is between them, what is written in one."""

import re
from collections.abc import Callable

from treadle.dialects.scan import Markers, Reading, Tape, space, took, until

_HEAD_ENDS = Markers(("<", ">", "\n"))
_ATTRIBUTE_VALUE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/]+))""")
_FARTHEST = 64  # characters of space beyond which a tag doesn't belong to what stands before it


def coming(tape: Tape, words: tuple[str, ...]) -> Reading[str | None]:
    """Which of `words` comes next; none, as an empty one, where the reply ends, be it inside of one; None for something else."""
    longest = max(map(len, words))
    while True:
        tail = tape.window[tape.at : tape.at + longest]
        if not any(len(word) > len(tail) and word.startswith(tail) for word in words):
            return max((word for word in words if tail.startswith(word)), key=len, default=None)
        if tape.ended:
            return ""
        yield


def took_beyond_space(tape: Tape, words: tuple[str, ...]) -> Reading[str]:
    """Which of `words` came next, with or without space before it; then both are taken, and otherwise nothing is.

    The reply may end inside of one.
    """
    farthest = _FARTHEST + max(map(len, words))
    while True:
        tail = tape.window[tape.at : tape.at + farthest]
        rest = tail.lstrip()
        found = next((word for word in words if rest.startswith(word) or (tape.ended and rest and word.startswith(rest))), "")
        if found:
            tape.take(min(len(tail), len(tail) - len(rest) + len(found)))
        if found or tape.ended or len(tail) == farthest or not any(word.startswith(rest) for word in words):
            return found
        yield


def gap(tape: Tape) -> Reading[None]:
    r"""Takes the space between tags, which some models spell out as `\n`."""
    while True:
        yield from space(tape)
        if not (yield from took(tape, "\\n")):
            return


def rest_of_tag(tape: Tape) -> Reading[tuple[str, str]]:
    """Takes a tag to its `>`; what was in it, and what ended it. Where that is something else, it isn't taken."""
    text, mark = yield from until(tape, _HEAD_ENDS)
    if mark == ">":
        tape.take(1)
    return text, mark


def attribute_value(text: str) -> str:
    """The value at the beginning of `text`, with or without quotes."""
    found = _ATTRIBUTE_VALUE.match(text)
    return "" if found is None else found[1] or found[2] or found[3] or ""


def unquoted(text: str, known: Callable[[str], bool]) -> str:
    """The text, without the quotes around it if it is known without them."""
    inner = text[1:-1]
    return inner if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and known(inner) else text
