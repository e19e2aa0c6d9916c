r"""A call as Python writes it, `name(key=value, …)`, read as it arrives. Literals only: nothing is evaluated.

Two steps: the text is taken token by token up to the parenthesis that closes the call, and the tokens are read as values. So a
call that makes no sense still ends where it ends. Sets and tuples are lists; true, false and null count as well; an escape that
Python doesn't have keeps its backslash; a string may go over lines. A quote of its own kind inside a string, which nobody
escaped, belongs to it where what follows can't follow a string.
"""

import re
from typing import Any, cast

from msgspec import Struct

from treadle.core.calls import Written
from treadle.dialects.extent import Ending
from treadle.dialects.forms import Offer, json_text
from treadle.dialects.mend import DEEPEST
from treadle.dialects.scan import Reading, Tape, ahead, peek, run, space, took

_Token = tuple[str, Any]  # its kind, and for words and texts what it says; punctuation is its own kind
_WORD, _TEXT, _ODD = "word", "text", "odd"

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_PAIRS.values())
_QUICK = re.compile(r"\s*+(?:([\w.+-]++)(?=[^\w.+-])(,?)|([(\[{}\]),:=*]))")
_TEXT_IN = r"""\s*+(?:'([^'\\]*+)'|"([^"\\]*+)")(?:(,)(?=\s?['"\[{])%s)"""
_QUICK_TEXT = {"]": re.compile(_TEXT_IN % ""), ")": re.compile(_TEXT_IN % ""), "}": re.compile(_TEXT_IN % "|(?=:)")}
_WORDS = re.compile(r"[\w.+-]+")
_BODY = {quote: re.compile(rf"(?:[^{quote}\\]++|\\.)*+", re.DOTALL) for quote in "'\""}
_PREFIX = re.compile(r"[rRuU]|[bB][rR]?|[fF][rR]?|[rR][bBfF]")
_FEW_SPACES = re.compile(r"\s{0,200}")
_KEY = re.compile(r"[\w.-]{0,200}")
_AFTER_COMMA = re.compile(r"[\w.+\-*'\"(\[{)\]}]?")
_CLOSED = frozenset((_TEXT, *_CLOSERS))


class _Scanner:
    """Takes the inside of a call apart. `end` is the mark that closes the frame the call stands in."""

    __slots__ = ("_end", "_named", "_open", "_tape", "tokens")

    def __init__(self, tape: Tape, end: str) -> None:
        self._tape = tape
        self._end = end
        self._open = [")"]  # what has to be closed yet
        self._named = False  # whether an argument was given by name: then so are all after it
        self.tokens: list[_Token] = []

    def scan(self) -> Reading[Ending]:
        """Takes everything up to the end of the call, or as far as the reply goes."""
        tape = self._tape
        ending: Ending | None = None
        while ending is None:
            found = _QUICK.match(tape.window, tape.at)
            if found is not None:
                tape.take(found.end() - tape.at)
                ending = self._add(found[1], found[2] or found[3])
            elif not self._quick_text():
                yield from space(tape)
                ending = yield from self._slowly((yield from peek(tape)))
        return ending

    def _quick_text(self) -> bool:
        """Takes a string in a list or a dictionary, if all of it is there and what follows can be meant in one way only."""
        tape = self._tape
        found = _QUICK_TEXT[self._open[-1]].match(tape.window, tape.at) if len(self._open) > 1 else None
        if found is None:
            return False
        tape.take(found.end() - tape.at)
        self._say(found[1] or found[2] or "", whole=True)
        self._add("", found[3])
        return True

    def _slowly(self, first: str) -> Reading[Ending | None]:
        """Takes the next token, whatever it is and however it arrives."""
        if not first:
            return "whole" if len(self._open) == 1 and self.tokens and self.tokens[-1][0] in _CLOSED else "cut"
        if first in _BODY:
            return (yield from self._string(self._tape.take(1)))
        if self._end and (yield from ahead(self._tape, self._end)):
            return "whole" if len(self._open) == 1 and self.tokens else "broken"
        word = yield from run(self._tape, _WORDS)
        return self._add(word, "" if word else self._tape.take(1))

    def _add(self, word: str | None, mark: str | None) -> Ending | None:
        if word:
            self.tokens.append((_WORD, word))
        if not mark:
            return None
        if mark in _CLOSERS:
            if self._open.pop() != mark:
                return "broken"
            if not self._open:
                return "whole"
        self.tokens.append((mark, None))
        if mark in _PAIRS:
            self._open.append(_PAIRS[mark])
        elif mark == "=" and len(self._open) == 1:
            self._named = True
        return None

    def _string(self, quote: str) -> Reading[Ending | None]:
        tape, parts, doubts = self._tape, list[str](), 0
        quotes = quote * 3 if (yield from took(tape, quote * 2)) else quote
        while True:
            part = yield from self._up_to(quote)
            if part is None:
                return "broken" if doubts else "cut"
            parts.append(part)
            if (yield from took(tape, quotes)):
                if len(quotes) > 1 or (yield from self._ends_string()):
                    break
                doubts += not (part[-1:].isalpha() and tape.window[tape.at].isalpha())  # an apostrophe is none
            else:
                tape.take(1)
            parts.append(quote)
        self._say("".join(parts), whole=doubts % 2 == 0)
        return None

    def _up_to(self, quote: str) -> Reading[str | None]:
        """Takes what comes before a quote that isn't escaped; None where the reply ends first."""
        tape, parts = self._tape, list[str]()
        while True:
            body = cast("re.Match[str]", _BODY[quote].match(tape.window, tape.at))  # it matches nothing as well
            parts.append(tape.take(body.end() - tape.at))
            if tape.window[tape.at : tape.at + 1] == quote:
                return "".join(parts)
            if tape.ended:
                tape.take(len(tape.window) - tape.at)
                return None
            yield

    def _say(self, raw: str, *, whole: bool) -> None:
        """Adds a string. One with a quote too many in it could be meant in two ways."""
        prefix = ""
        if self.tokens and self.tokens[-1][0] == _WORD and _PREFIX.fullmatch(self.tokens[-1][1]):
            prefix = self.tokens.pop()[1].lower()
        if not whole or "b" in prefix or ("f" in prefix and "{" in raw):
            self.tokens.append((_ODD, None))
        else:
            self.tokens.append((_TEXT, raw if "r" in prefix else unescaped(raw)))

    def _ends_string(self) -> Reading[bool]:
        """Whether the quote just taken ends a string, going by what follows it."""
        at, mark = yield from self._glance(0)
        if mark == ",":
            return (yield from self._goes_on(at + 1))
        if mark == self._open[-1]:
            return (yield from self._closes(at + 1))
        if mark == ":":
            return self._open[-1] == "}"
        return not mark or (self._end != "" and (yield from ahead(self._tape, self._end)))

    def _goes_on(self, at: int) -> Reading[bool]:
        """Whether what follows a comma is the next thing there has to be."""
        at, mark = yield from self._glance(at)
        if len(self._open) > 1 or not self._named or mark in {"", "*", ")"}:
            return _AFTER_COMMA.fullmatch(mark) is not None
        while True:
            key = cast("re.Match[str]", _KEY.match(self._tape.window, self._tape.at + at))  # it matches nothing as well
            if self._tape.ended or key.end() < len(self._tape.window):
                break
            yield
        _, mark = yield from self._glance(key.end() - self._tape.at)
        return key.group() != "" and mark in {"", "="}

    def _closes(self, at: int) -> Reading[bool]:
        """Whether what follows a closing bracket may follow it."""
        after, mark = yield from self._glance(at)
        if len(self._open) > 1:
            return mark in {"", ",", self._open[-2]}
        return (
            mark in {"", ",", ";", "]"}
            or mark == self._end[:1]
            or "\n" in self._tape.window[self._tape.at + at : self._tape.at + after]
        )

    def _glance(self, at: int) -> Reading[tuple[int, str]]:
        """Where the next character stands that is no space, counted from the cursor, and which it is. Nothing is taken."""
        tape = self._tape
        while True:
            spaces = cast("re.Match[str]", _FEW_SPACES.match(tape.window, tape.at + at))  # it matches nothing as well
            if tape.ended or spaces.end() < len(tape.window):
                return spaces.end() - tape.at, tape.window[spaces.end() : spaces.end() + 1]
            yield


_ESCAPE = re.compile(
    r"\\(?:(\r?\n)|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|(.))", re.DOTALL
)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_HALF = re.compile(r"[\ud800-\udfff]")


def unescaped(raw: str) -> str:
    """What the inside of a string says."""
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(_character, raw)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALF.search(text) else text


def _character(escape: re.Match[str]) -> str:
    line, octal, *codes, letter = escape.groups()
    if line:
        return ""
    if octal:
        return chr(int(octal, 8))
    code = next((code for code in codes if code), None)
    return chr(int(code, 16)) if code else _ESCAPES.get(letter, "\\" + letter)


class Odd(Exception):
    """This is no literal."""


_LITERALS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_INTEGER = re.compile(r"[+-]?[0-9][0-9_]*+")
_BASED = re.compile(r"[+-]?0(?:[xX][0-9a-fA-F]++|[oO][0-7]++|[bB][01]++)")
_FLOAT = re.compile(r"[+-]?(?:[0-9][0-9_]*+\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")


def scalar(word: str) -> Any:
    """What a word says that is no text; raises `Odd` where that is nothing."""
    if word in _LITERALS:
        return _LITERALS[word]
    try:
        if _INTEGER.fullmatch(word):
            return int(word)
        if _BASED.fullmatch(word):
            return int(word, 0)
        value = float(word) if _FLOAT.fullmatch(word) else None
    except ValueError:  # too many digits
        raise Odd from None
    if value is None or value in {float("inf"), float("-inf")}:
        raise Odd
    return value


class _Values:
    """Reads tokens as values."""

    __slots__ = ("_at", "_tokens")

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens: list[_Token] = [*tokens, ("", None)]
        self._at = 0

    def arguments(self, keys: list[str]) -> dict[str, Any]:
        """All of the tokens as the arguments of a call; `keys` are the names of those that are given by position."""
        given: dict[str, Any] = {}
        position = 0
        while not self._took(""):
            if self._took("*"):
                given.update(self._unpacked())
            elif self._tokens[self._at][0] == _WORD and self._tokens[self._at + 1][0] == "=":
                key = self._tokens[self._at][1]
                self._at += 2
                given[key] = self._value(0)
            elif position < len(keys):
                given[keys[position]] = self._value(0)
                position += 1
            else:
                raise Odd
            self._separator("")
        return given

    def _unpacked(self) -> dict[str, Any]:
        value = self._value(0) if self._took("*") else None
        if not isinstance(value, dict):
            raise Odd
        return cast("dict[str, Any]", value)

    def _value(self, depth: int) -> Any:
        kind, said = self._tokens[self._at]
        self._at += 1
        if kind == _TEXT:
            return said
        if kind == _WORD:
            return scalar(said)
        if kind not in _PAIRS or depth == DEEPEST:
            raise Odd
        return self._mapping(depth + 1) if kind == "{" else self._items(kind, depth + 1)

    def _items(self, opener: str, depth: int) -> Any:
        items: list[Any] = []
        comma = False
        while not self._took(_PAIRS[opener]):
            items.append(self._value(depth))
            comma = self._separator(_PAIRS[opener])
        return items[0] if opener == "(" and len(items) == 1 and not comma else items

    def _mapping(self, depth: int) -> Any:
        """A dictionary, or a set, as a list."""
        members: list[tuple[Any, Any]] = []
        colons = 0
        while not self._took("}"):
            key = self._value(depth)
            colon = self._took(":")
            colons += colon
            members.append((key, self._value(depth) if colon else None))
            self._separator("}")
        if colons == len(members):
            return {_key(key): value for key, value in members}
        if colons:
            raise Odd
        return [item for item, _ in members]

    def _took(self, kind: str) -> bool:
        if self._tokens[self._at][0] != kind:
            return False
        self._at += 1
        return True

    def _separator(self, closer: str) -> bool:
        """Takes a comma, which has to be there unless `closer` is next."""
        if self._took(","):
            return True
        if self._tokens[self._at][0] != closer:
            raise Odd
        return False


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, (dict, list)):
        raise Odd
    return json_text(key)


class PythonCall(Struct, frozen=True):
    """A call as far as it was read: `written` where it has an end, `sound` where its arguments are literals."""

    ending: Ending
    written: Written
    sound: bool = False


def read_call(tape: Tape, name: str, end: str, offer: Offer) -> Reading[PythonCall]:
    """Reads on after `name(`. `end` closes the frame around the call, if there is one."""
    scanner = _Scanner(tape, end)
    start = tape.place()
    ending = yield from scanner.scan()
    raw = tape.since(start)
    if ending != "whole":
        return PythonCall(ending, Written("", name, raw, cut=ending == "cut"))
    try:
        arguments = _Values(scanner.tokens).arguments(list(offer.properties(name)))
    except Odd:
        return PythonCall(ending, Written("", name, raw.removesuffix(")")))
    return PythonCall(ending, Written("", name, json_text(arguments)), sound=True)


def spelled(name: str, arguments: dict[str, Any]) -> str:
    """A call in Python."""
    given = [
        f"{key}={_literal(value)}" if _KEY.fullmatch(key) and key else f"**{_literal({key: value})}"
        for key, value in arguments.items()
    ]
    return f"{name}({', '.join(given)})"


def _literal(value: object) -> str:
    match value:
        case None | True | False:
            return str(value)
        case list():
            return f"[{', '.join(map(_literal, cast('list[object]', value)))}]"
        case dict():
            members = cast("dict[str, object]", value).items()
            return "{" + ", ".join(f"{json_text(key)}: {_literal(item)}" for key, item in members) + "}"
        case _:
            return json_text(value)
