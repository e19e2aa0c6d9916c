"""Finds where a JSON value ends: follows brackets, strings and comments as they arrive.

Parsing the value is done in `json_repair`.
"""

from functools import lru_cache
from typing import Literal

from treadle.dialects.quotes import DOUBLE_QUOTES, SINGLE_QUOTES
from treadle.dialects.scanner import Markers, Reading, Tape, peek, take_space, take_until

JsonEnding = Literal["whole", "broken", "cut"]

_CLOSERS = {"{": "}", "[": "]"}
_QUOTES = {'"': '"', "'": "'", **dict.fromkeys(DOUBLE_QUOTES, DOUBLE_QUOTES), **dict.fromkeys(SINGLE_QUOTES, SINGLE_QUOTES)}
_IN_STRING = {opener: Markers((*closers, "\\")) for opener, closers in _QUOTES.items()}
_IN_COMMENT = {"//": Markers("\n"), "#": Markers("\n"), "/*": Markers(("*/",))}
_OUTSIDE = (*_CLOSERS, *_CLOSERS.values(), *_QUOTES, *_IN_COMMENT)


@lru_cache(maxsize=32)
def _markers_outside_strings(ends: tuple[str, ...]) -> Markers:
    return Markers((*_OUTSIDE, *ends))


def take_value(tape: Tape, opener: str, ends: tuple[str, ...] = ()) -> Reading[JsonEnding]:
    """Take the rest of a value whose `opener` was taken: to its end, to where it is invalid, or to the end of the reply.

    `ends` are marks that can occur in a value only inside a string, so that elsewhere they make it invalid.
    """
    open_brackets, outside = [_CLOSERS[opener]], _markers_outside_strings(ends)
    while open_brackets:
        _, mark = yield from take_until(tape, outside)
        if mark in ends:
            return "broken"
        tape.take(len(mark))
        if not mark:
            return "cut"
        if mark in _CLOSERS:
            open_brackets.append(_CLOSERS[mark])
        elif mark in _IN_COMMENT:
            yield from take_until(tape, _IN_COMMENT[mark])
        elif mark not in _QUOTES:
            if open_brackets.pop() != mark:
                return "broken"
        elif not (yield from _take_string(tape, mark)):
            return "broken"
    return "whole"


def _take_string(tape: Tape, quote: str) -> Reading[bool]:
    """Take the rest of a string. A quote followed by something that can't follow a string doesn't close it."""
    while True:
        _, mark = yield from take_until(tape, _IN_STRING[quote])
        tape.take(len(mark))
        if mark != "\\":
            break
        if (yield from peek(tape)):
            tape.take(1)
    lines = yield from take_space(tape)
    return (yield from peek(tape)) in {"", ",", ":", "}", "]", "/", "#"} or "\n" in lines
