"""Replies that were cut at the model's output limit: whether one is continued, and how the next request joins it. Pure.

The next request has the cut reply as the model's last message, and a note that quotes its end. The model is asked to repeat these
words first, so that both parts can be joined exactly, wherever it was cut: `Joint` drops the repetition as it streams.
"""

from msgspec.structs import replace

from treadle.core.messages import ReplyPart, text_of
from treadle.core.requests import Usage
from treadle.loop.limits import Limits, find_exhausted
from treadle.loop.state import RunState

TAIL = 60  # characters of a reply's end that are quoted
SHORTEST_OVERLAP = 6  # a repetition shorter than this may be chance
_OPENING = " \t\r\n…\"'“”«»`*"


def is_continued(state: RunState, limits: Limits, parts: list[ReplyPart], usage: Usage) -> bool:
    """Return whether a reply without calls that was cut is continued, rather than taken as the answer."""
    if state.cut >= limits.continuations or not text_of(parts).strip():
        return False
    spent = replace(state.spent, usage=state.spent.usage + usage, last_tokens=usage.total_tokens)
    return not find_exhausted(replace(limits, rounds=None, calls=None, failures=None), spent)


def continuation_note(text: str) -> str:
    """Return the note to the model that asks for the rest of its reply."""
    return (
        "Your reply, the last message, was cut off at the output limit. Continue it: first repeat its last words, exactly, "
        f"then go on from there. They are:\n{find_tail(text)}"
    )


def find_tail(text: str) -> str:
    """Return the last words of a text, from the beginning of a word on."""
    tail = text.rstrip()[-TAIL:]
    if len(tail) < TAIL:
        return tail.lstrip()
    for at, character in enumerate(tail[:-SHORTEST_OVERLAP]):
        if character.isspace():
            return tail[at:].lstrip()
    return tail


class Joint:
    """Takes the rest of a cut reply in, piece by piece, and drops what repeats the end of the first part."""

    __slots__ = ("_before", "_buffer", "_is_open", "_tail")

    def __init__(self, before: str) -> None:
        self._before = before
        self._tail = find_tail(before)
        self._buffer = ""
        self._is_open = True

    def feed(self, text: str) -> str:
        """Return what of the text so far is new; nothing while that can't be said yet."""
        if not self._is_open:
            return text
        self._buffer += text
        if len(self._buffer.lstrip(_OPENING)) <= 2 * TAIL:
            return ""
        return self.close()

    def close(self) -> str:
        """Return the rest: nothing more will come, or the repetition is behind it."""
        if not self._is_open or not self._buffer:
            return ""
        self._is_open = False
        begun = self._buffer.lstrip(_OPENING)
        end = _skip_repetition(begun, self._tail)
        if end:
            return self._without_space(begun[end:].lstrip("”»") if begun != self._buffer.lstrip() else begun[end:])
        last = self._before[-1:]
        gap = " " if self._buffer[0].isalnum() and (last.isalnum() or last in ".,;:!?") else ""
        return gap + self._buffer

    def _without_space(self, rest: str) -> str:
        """The rest without the white space that the first part ends with."""
        space = self._before[len(self._before.rstrip()) :]
        return rest.removeprefix(space)


def join_rest(before: str, rest: str) -> str:
    """Return what of the rest of a text is new."""
    joint = Joint(before)
    return joint.feed(rest) + joint.close()


def _skip_repetition(text: str, tail: str) -> int:
    """Return where a repetition of the end of `tail` at the beginning of `text` ends; 0 where there is none."""
    for start in range(len(tail) - SHORTEST_OVERLAP + 1 if len(tail) > SHORTEST_OVERLAP else 1):
        end = _match(text, tail[start:])
        if end:
            return end
    return 0


def _match(text: str, words: str) -> int:
    """Return where `words` at the beginning of `text` end, whatever white space is between them; 0 where they aren't there."""
    at = 0
    for character in words:
        if character.isspace():
            continue
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text) or text[at] != character:
            return 0
        at += 1
    return at
