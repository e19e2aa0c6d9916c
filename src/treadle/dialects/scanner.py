"""The text of a reply as it arrives, and the basic operations that every form of call is read with.

A reader is a generator that yields where it needs more text, so it reads like a parser of complete text and works however the
text is split into pieces. Text that was taken isn't examined again; what may be the beginning of a marker waits for the rest
of it, and nothing else does. The end of a JSON value is found here, too; `json_repair` parses it. This module doesn't know
what a call is.
"""

import re
from collections.abc import Generator, Iterable
from functools import lru_cache
from typing import Literal, TypeVar

from treadle.dialects.lenient_json import DOUBLE_QUOTES, SINGLE_QUOTES

MAX_HELD = 1 << 20  # how many characters may be held back before what they are is known

Parsed = TypeVar("Parsed")
Reading = Generator[None, None, Parsed]
JsonEnding = Literal["whole", "broken", "cut"]

_CLOSERS = {"{": "}", "[": "]"}
_QUOTES = {'"': '"', "'": "'", **dict.fromkeys(DOUBLE_QUOTES, DOUBLE_QUOTES), **dict.fromkeys(SINGLE_QUOTES, SINGLE_QUOTES)}


class HeldTooLong(Exception):
    """Raised where more than `MAX_HELD` characters were held back. Caught by the code that began to hold."""


class Tape:
    """The text from the cursor on, and what was taken of it since `begin_hold`."""

    __slots__ = ("_held", "_taken", "at", "ended", "touched", "window")

    def __init__(self, text: str = "", *, ended: bool = False) -> None:
        self.window = text
        self.at = 0
        self.ended = ended
        self.touched = len(text)  # characters laid out so far: linear in the reply, whatever the pieces
        self._taken: list[str] | None = None
        self._held = 0

    def more(self, piece: str) -> None:
        """Append another piece."""
        self.window = self.window[self.at :] + piece
        self.at = 0
        self.touched += len(self.window)

    def begin_hold(self) -> None:
        """Keep what is taken from here on."""
        self._taken = []
        self._held = 0

    def take(self, count: int) -> str:
        """Take the next `count` characters, which must be available."""
        end = self.at + count
        taken = self.window[self.at : end]
        self.at = end
        if self._taken is not None:
            self._taken.append(taken)
            self._held += count
            if self._held > MAX_HELD:
                raise HeldTooLong
        return taken

    def place(self) -> int:
        """Return a position in the kept text, for `held_since`."""
        return 0 if self._taken is None else len(self._taken)

    def held_since(self, place: int = 0, end: int | None = None) -> str:
        """Return what was kept from `place` on, or up to `end`."""
        return "" if self._taken is None else "".join(self._taken[place:end])

    def release(self) -> str:
        """Return everything kept since `begin_hold`, and stop keeping."""
        kept = self.held_since()
        self._taken = None
        return kept


class Markers:
    """Words to search for, all in one pass."""

    __slots__ = ("_beginnings", "_longest", "_one_of", "_words", "search")

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(sorted(words, key=len, reverse=True))
        self._longest = max(map(len, self._words), default=0)
        self._beginnings = frozenset(word[:end] for word in self._words for end in range(1, len(word)))
        many = len(self._words) > _FEW
        self._one_of = re.compile("|".join(map(re.escape, self._words))).match if many else None
        self.search = re.compile(_prefix_pattern(self._words)).search  # where one of them may begin

    def find(self, tape: Tape) -> tuple[int, str]:
        """Return the distance to the next marker, and the marker.

        Without one: how much can be taken without missing the start of one.
        """
        window, at = tape.window, tape.at
        hit = self.search(window, at)
        while hit is not None:
            start = hit.start()
            if not tape.ended and len(window) - start < self._longest and window[start:] in self._beginnings:
                return start - at, ""
            word = self._word_at(window, start)
            if word:
                return start - at, word
            hit = self.search(window, start + 1)
        return len(window) - at, ""

    def _word_at(self, window: str, start: int) -> str:
        if self._one_of is not None:
            found = self._one_of(window, start)
            return "" if found is None else found.group()
        for word in self._words:
            if window.startswith(word, start):
                return word
        return ""


_FEW = 8  # so many words are compared one by one in less time than it takes to make a pattern of them


def _prefix_pattern(words: tuple[str, ...]) -> str:
    """Return a pattern for the beginnings of words: the first character.

    For words that begin with a letter, all that is available.
    """
    signs = "".join(sorted({re.escape(word[0]) for word in words if not word[0].isalnum()}))
    return (
        "|".join([*([f"[{signs}]"] if signs else []), *(_word_prefix_pattern(word) for word in words if word[0].isalnum())])
        or "(?!)"
    )


def _word_prefix_pattern(word: str) -> str:
    pattern = ""
    for character in reversed(word[1:]):
        pattern = rf"(?:\Z|{re.escape(character)}{pattern})"
    return re.escape(word[0]) + pattern


def peek(tape: Tape) -> Reading[str]:
    """Return the next character; empty at the end of the reply."""
    while tape.at == len(tape.window):
        if tape.ended:
            return ""
        yield
    return tape.window[tape.at]


def is_next(tape: Tape, word: str) -> Reading[bool]:
    """Return whether `word` comes next."""
    while True:
        tail = tape.window[tape.at : tape.at + len(word)]
        if tail == word:
            return True
        if tape.ended or not word.startswith(tail):
            return False
        yield


def take_if_next(tape: Tape, word: str) -> Reading[bool]:
    """Take `word` if it comes next; return whether it did."""
    if not (yield from is_next(tape, word)):
        return False
    tape.take(len(word))
    return True


def peek_ahead(tape: Tape, count: int) -> Reading[str]:
    """Return the next `count` characters, or all there are; takes nothing."""
    while len(tape.window) - tape.at < count and not tape.ended:
        yield
    return tape.window[tape.at : tape.at + count]


def take_run(tape: Tape, pattern: re.Pattern[str]) -> Reading[str]:
    """Take characters for as long as `pattern`, a repeated character class, matches."""
    parts: list[str] = []
    while True:
        match = pattern.match(tape.window, tape.at)
        parts.append(tape.take(0 if match is None else match.end() - tape.at))
        if tape.at < len(tape.window) or tape.ended:
            return "".join(parts)
        yield


_SPACE = re.compile(r"\s+")


def take_space(tape: Tape) -> Reading[str]:
    """Take the space that comes next."""
    return take_run(tape, _SPACE)


def take_until(tape: Tape, markers: Markers) -> Reading[tuple[str, str]]:
    """Take everything up to the next marker, and return both; the marker is empty if the reply ended first."""
    parts: list[str] = []
    while True:
        count, word = markers.find(tape)
        parts.append(tape.take(count))
        if word or tape.ended:
            return "".join(parts), word
        yield


def take_until_within(tape: Tape, markers: Markers, limit: int) -> Reading[tuple[str, str]]:
    """Like `take_until`, for a marker that must come within `limit` characters; beyond them there is none."""
    parts: list[str] = []
    while True:
        count, word = markers.find(tape)
        parts.append(tape.take(min(count, limit)))
        if word or tape.ended or count > limit:
            return "".join(parts), word if count <= limit else ""
        limit -= count
        yield


def run_reader(reading: Reading[Parsed]) -> Parsed:
    """Run a reader on a tape that has ended, and return its result."""
    try:
        next(reading)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("A reader waited for more of a tape that had ended.")


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
