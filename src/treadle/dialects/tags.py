"""Operations for reading tags as they arrive: which comes next, the space between them, the content of one."""

import re
from collections.abc import Callable

from treadle.dialects.scanner import Markers, Reading, Tape, take_if_next, take_space, take_until

_HEAD_ENDS = Markers(("<", ">", "\n"))
_ATTRIBUTE_VALUE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/]+))""")
_MAX_GAP = 64  # characters of space beyond which a tag doesn't belong to what stands before it


def peek_word(tape: Tape, words: tuple[str, ...]) -> Reading[str | None]:
    """Return which of `words` comes next; empty where the reply ends, even inside of one; None for something else."""
    longest = max(map(len, words))
    while True:
        tail = tape.window[tape.at : tape.at + longest]
        if not any(len(word) > len(tail) and word.startswith(tail) for word in words):
            return max((word for word in words if tail.startswith(word)), key=len, default=None)
        if tape.ended:
            return ""
        yield


def take_word_beyond_space(tape: Tape, words: tuple[str, ...]) -> Reading[str]:
    """Take the one of `words` that comes next, with the space before it; return it. Takes nothing if none does.

    The reply may end inside of one.
    """
    farthest = _MAX_GAP + max(map(len, words))
    while True:
        tail = tape.window[tape.at : tape.at + farthest]
        rest = tail.lstrip()
        found = next((word for word in words if rest.startswith(word) or (tape.ended and rest and word.startswith(rest))), "")
        if found:
            tape.take(min(len(tail), len(tail) - len(rest) + len(found)))
        if found or tape.ended or len(tail) == farthest or not any(word.startswith(rest) for word in words):
            return found
        yield


def skip_gap(tape: Tape) -> Reading[None]:
    r"""Take the space between tags, which some models spell out as `\n`."""
    while True:
        yield from take_space(tape)
        if not (yield from take_if_next(tape, "\\n")):
            return


def take_tag(tape: Tape) -> Reading[tuple[str, str]]:
    """Take a tag to its `>`; return its content and what ended it. If that is something else, it isn't taken."""
    text, mark = yield from take_until(tape, _HEAD_ENDS)
    if mark == ">":
        tape.take(1)
    return text, mark


def parse_attribute_value(text: str) -> str:
    """Return the attribute value at the beginning of `text`, with or without quotes."""
    found = _ATTRIBUTE_VALUE.match(text)
    return "" if found is None else found[1] or found[2] or found[3] or ""


def unquote_known(text: str, known: Callable[[str], bool]) -> str:
    """Return the text without the quotes around it, if `known` accepts it without them."""
    inner = text[1:-1]
    return inner if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and known(inner) else text
