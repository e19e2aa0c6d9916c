"""Where a JSON value ends: brackets, strings and comments, followed as they arrive. What the value says is `mend`'s business."""

from functools import lru_cache
from typing import Literal

from treadle.dialects.quotes import DOUBLE_QUOTES, SINGLE_QUOTES
from treadle.dialects.scan import Markers, Reading, Tape, peek, space, until

Ending = Literal["whole", "broken", "cut"]

_CLOSERS = {"{": "}", "[": "]"}
_QUOTES = {'"': '"', "'": "'", **dict.fromkeys(DOUBLE_QUOTES, DOUBLE_QUOTES), **dict.fromkeys(SINGLE_QUOTES, SINGLE_QUOTES)}
_IN_STRING = {opener: Markers((*closers, "\\")) for opener, closers in _QUOTES.items()}
_IN_COMMENT = {"//": Markers("\n"), "#": Markers("\n"), "/*": Markers(("*/",))}
_OUTSIDE = (*_CLOSERS, *_CLOSERS.values(), *_QUOTES, *_IN_COMMENT)


@lru_cache(maxsize=32)
def _outside(ends: tuple[str, ...]) -> Markers:
    return Markers((*_OUTSIDE, *ends))


def take_value(tape: Tape, opener: str, ends: tuple[str, ...] = ()) -> Reading[Ending]:
    """Takes the rest of a value whose `opener` was taken: to its end, to where it makes no sense, or as far as the reply goes.

    `ends` are marks that can't be in a value but inside a string, so that it makes no sense from there on.
    """
    open_brackets, outside = [_CLOSERS[opener]], _outside(ends)
    while open_brackets:
        _, mark = yield from until(tape, outside)
        if mark in ends:
            return "broken"
        tape.take(len(mark))
        if not mark:
            return "cut"
        if mark in _CLOSERS:
            open_brackets.append(_CLOSERS[mark])
        elif mark in _IN_COMMENT:
            yield from until(tape, _IN_COMMENT[mark])
        elif mark not in _QUOTES:
            if open_brackets.pop() != mark:
                return "broken"
        elif not (yield from _string(tape, mark)):
            return "broken"
    return "whole"


def _string(tape: Tape, quote: str) -> Reading[bool]:
    """Takes the rest of a string. A quote followed by something that can't follow a string wasn't meant to close it."""
    while True:
        _, mark = yield from until(tape, _IN_STRING[quote])
        tape.take(len(mark))
        if mark != "\\":
            break
        if (yield from peek(tape)):
            tape.take(1)
    lines = yield from space(tape)
    return (yield from peek(tape)) in {"", ",", ":", "}", "]", "/", "#"} or "\n" in lines
