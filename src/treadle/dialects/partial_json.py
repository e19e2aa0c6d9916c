"""Parses JSON that is still being written, as far as it is certain: for showing a structured answer while it streams.

Pure. Incomplete parts are left out, except a string value, whose beginning is shown. Calls are read when they are complete; of one
that was cut at the output limit, `find_cut_string` returns where, so that the rest can be sent in another call.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct

from treadle.dialects.json_repair import MAX_DEPTH

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|(?P<begun>".*)', re.DOTALL)
_DANGLING = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_CLOSERS = {"{": "}", "[": "]"}


def read_partial(text: str) -> Any:
    """Return the value written so far; None if there is none yet or the text is no JSON."""
    scan = _PartialScan(text)
    try:
        return msgspec.json.decode(scan.complete())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


class CutString(Struct, frozen=True):
    """A JSON text that was cut within a string: what is before the string, its value so far, and what closes the text after it."""

    before: str
    value: str
    after: str

    def begun(self, rest: str = "") -> str:
        """Return the text with more of the value, still open."""
        return self.before + msgspec.json.encode(self.value + rest).decode()[:-1]

    def complete(self, rest: str) -> str:
        """Return the text with the rest of the value, as complete JSON."""
        return f'{self.begun(rest)}"{self.after}'


def find_cut_string(text: str) -> CutString | None:
    """Return where a text was cut within a string value; None where it was cut elsewhere, or is no JSON."""
    scan = _PartialScan(text)
    cut = scan.cut_string()
    if cut is None or read_partial(text) is None:
        return None
    before, tail, after = cut
    return CutString(before, msgspec.json.decode(tail), after)


class _PartialScan:
    """Scans a text once, and tracks where it can be cut so that closing the open brackets makes it a value."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[str] = []  # what closes the containers that are open
        self._cut = 0, ""  # up to where the text is certain, and what closes it there
        self._is_key = False  # whether a text would be the name of a property
        self._tail = ""  # the beginning of a text that isn't over
        for token in _TOKEN.finditer(text):
            if token["begun"] is None:
                self._take_token(token.group(), token.end())
            elif not self._is_key:
                self._begin_string(token.start())

    def complete(self) -> str:
        """Return the text up to where it is certain, with its brackets closed."""
        at, closers = self._cut
        return f"{self._text[:at]}{self._tail}{closers}"

    def cut_string(self) -> tuple[str, str, str] | None:
        """Return the text before the string in which it ends, the string, closed, and the closing brackets."""
        at, closers = self._cut
        return (self._text[:at], self._tail, closers) if self._tail else None

    def _take_token(self, lexeme: str, end: int) -> None:
        match lexeme:
            case "{" | "[":
                if len(self._open) < MAX_DEPTH:
                    self._open.append(_CLOSERS[lexeme])
                    self._is_key = lexeme == "{"
                    self._settle(end)
            case "}" | "]":
                if self._open:
                    self._open.pop()
                self._settle(end)
            case ",":
                self._is_key = self._open[-1:] == ["}"]
            case ":":
                self._is_key = False
            case _ if not self._is_key and (lexeme[0] == '"' or end < len(self._text)):  # a number at the end may go on
                self._settle(end)
            case _:
                pass

    def _begin_string(self, start: int) -> None:
        rest = self._text[start:]
        dangling = _DANGLING.search(rest)
        self._settle(start)
        self._tail = f'{rest[: dangling.start(1)] if dangling else rest}"'

    def _settle(self, at: int) -> None:
        self._cut = at, "".join(reversed(self._open))
