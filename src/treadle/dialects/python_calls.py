"""Reads a call in Python syntax, `name(key=value, …)`, as it arrives. Literals only: nothing is evaluated.

Two steps: the text is tokenized up to the parenthesis that closes the call, and the tokens are parsed as values. So a call
with invalid arguments still ends at the right place. Sets and tuples are lists; true, false and null are accepted; an escape
that Python doesn't have keeps its backslash; a string may span lines. An unescaped quote of its own kind inside a string
belongs to the string if what follows can't follow a string.
"""

import re
from typing import Any, cast

from msgspec import Struct

from treadle.core.calls import Written
from treadle.dialects.forms import OfferedTools, to_json_text
from treadle.dialects.json_repair import MAX_DEPTH
from treadle.dialects.scanner import JsonEnding, Reading, Tape, is_next, peek, take_if_next, take_run, take_space

_Token = tuple[str, Any]  # its kind, and for words and texts what it says; punctuation is its own kind
_WORD, _TEXT, _ODD = "word", "text", "odd"

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_PAIRS.values())
_QUICK = re.compile(r"\s*+(?:([\w.+-]++)(?=[^\w.+-])(,?)|([(\[{}\]),:=*]))")
_TEXT_IN = r"""\s*+(?:'([^'\\]*+)'|"([^"\\]*+)")(?:(,)(?=\s?['"\[{])%s)"""
_QUICK_TEXT = {"]": re.compile(_TEXT_IN % ""), ")": re.compile(_TEXT_IN % ""), "}": re.compile(_TEXT_IN % "|(?=:)")}
_WORDS = re.compile(r"[\w.+-]+")
_BODY = {quote: re.compile(rf"(?:[^{quote}\\]++|\\.)*", re.DOTALL) for quote in "'\""}
_PREFIX = re.compile(r"[rRuU]|[bB][rR]?|[fF][rR]?|[rR][bBfF]")
_FEW_SPACES = re.compile(r"\s{0,200}")
_KEY = re.compile(r"[\w.-]{0,200}")
_AFTER_COMMA = re.compile(r"[\w.+\-*'\"(\[{)\]}]?")
_CLOSED = frozenset((_TEXT, *_CLOSERS))


class _CallScanner:
    """Tokenizes the inside of a call. `end` is the mark that closes the frame around the call."""

    __slots__ = ("_end", "_named", "_open", "_tape", "tokens")

    def __init__(self, tape: Tape, end: str) -> None:
        self._tape = tape
        self._end = end
        self._open = [")"]  # what has to be closed yet
        self._named = False  # whether an argument was given by name: then so are all after it
        self.tokens: list[_Token] = []

    def scan(self) -> Reading[JsonEnding]:
        """Take everything up to the end of the call, or of the reply."""
        tape = self._tape
        ending: JsonEnding | None = None
        while ending is None:
            found = _QUICK.match(tape.window, tape.at)
            if found is not None:
                tape.take(found.end() - tape.at)
                ending = self._add_token(found[1], found[2] or found[3])
            elif not self._take_simple_string():
                yield from take_space(tape)
                ending = yield from self._take_token((yield from peek(tape)))
        return ending

    def _take_simple_string(self) -> bool:
        """Take a string in a list or a dictionary, if it is complete and what follows is unambiguous."""
        tape = self._tape
        found = _QUICK_TEXT[self._open[-1]].match(tape.window, tape.at) if len(self._open) > 1 else None
        if found is None:
            return False
        tape.take(found.end() - tape.at)
        self._add_string(found[1] or found[2] or "", whole=True)
        self._add_token("", found[3])
        return True

    def _take_token(self, first: str) -> Reading[JsonEnding | None]:
        """Take the next token of any kind, however it is split into pieces."""
        if not first:
            return "whole" if len(self._open) == 1 and self.tokens and self.tokens[-1][0] in _CLOSED else "cut"
        if first in _BODY:
            return (yield from self._take_string(self._tape.take(1)))
        if self._end and (yield from is_next(self._tape, self._end)):
            return "whole" if len(self._open) == 1 and self.tokens else "broken"
        word = yield from take_run(self._tape, _WORDS)
        return self._add_token(word, "" if word else self._tape.take(1))

    def _add_token(self, word: str | None, mark: str | None) -> JsonEnding | None:
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

    def _take_string(self, quote: str) -> Reading[JsonEnding | None]:
        tape, parts, doubts = self._tape, list[str](), 0
        quotes = quote * 3 if (yield from take_if_next(tape, quote * 2)) else quote
        while True:
            part = yield from self._take_to_quote(quote)
            if part is None:
                return "broken" if doubts else "cut"
            parts.append(part)
            if (yield from take_if_next(tape, quotes)):
                if len(quotes) > 1 or (yield from self._ends_string()):
                    break
                doubts += not (part[-1:].isalpha() and tape.window[tape.at].isalpha())  # an apostrophe is none
            else:
                tape.take(1)
            parts.append(quote)
        self._add_string("".join(parts), whole=doubts % 2 == 0)
        return None

    def _take_to_quote(self, quote: str) -> Reading[str | None]:
        """Take the text before an unescaped quote; None if the reply ends first."""
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

    def _add_string(self, raw: str, *, whole: bool) -> None:
        """Add a string. One with an extra quote in it is ambiguous."""
        prefix = ""
        if self.tokens and self.tokens[-1][0] == _WORD and _PREFIX.fullmatch(self.tokens[-1][1]):
            prefix = self.tokens.pop()[1].lower()
        if not whole or "b" in prefix or ("f" in prefix and "{" in raw):
            self.tokens.append((_ODD, None))
        else:
            self.tokens.append((_TEXT, raw if "r" in prefix else unescape_python(raw)))

    def _ends_string(self) -> Reading[bool]:
        """Return whether the quote just taken ends a string, judged by what follows it."""
        at, mark = yield from self._peek_beyond_space(0)
        if mark == ",":
            return (yield from self._may_follow_comma(at + 1))
        if mark == self._open[-1]:
            return (yield from self._may_follow_closer(at + 1))
        if mark == ":":
            return self._open[-1] == "}"
        return not mark or (self._end != "" and (yield from is_next(self._tape, self._end)))

    def _may_follow_comma(self, at: int) -> Reading[bool]:
        """Return whether the text after a comma is a valid next item."""
        at, mark = yield from self._peek_beyond_space(at)
        if len(self._open) > 1 or not self._named or mark in {"", "*", ")"}:
            return _AFTER_COMMA.fullmatch(mark) is not None
        while True:
            key = cast("re.Match[str]", _KEY.match(self._tape.window, self._tape.at + at))  # it matches nothing as well
            if self._tape.ended or key.end() < len(self._tape.window):
                break
            yield
        _, mark = yield from self._peek_beyond_space(key.end() - self._tape.at)
        return key.group() != "" and mark in {"", "="}

    def _may_follow_closer(self, at: int) -> Reading[bool]:
        """Return whether the text after a closing bracket may follow it."""
        after, mark = yield from self._peek_beyond_space(at)
        if len(self._open) > 1:
            return mark in {"", ",", self._open[-2]}
        return (
            mark in {"", ",", ";", "]"}
            or mark == self._end[:1]
            or "\n" in self._tape.window[self._tape.at + at : self._tape.at + after]
        )

    def _peek_beyond_space(self, at: int) -> Reading[tuple[int, str]]:
        """Return the offset of the next non-space character from the cursor, and the character. Takes nothing."""
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
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def unescape_python(raw: str) -> str:
    """Return the inside of a string with its escapes decoded."""
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(_replace_escape, raw)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _SURROGATE.search(text) else text


def _replace_escape(escape: re.Match[str]) -> str:
    line, octal, *codes, letter = escape.groups()
    if line:
        return ""
    if octal:
        return chr(int(octal, 8))
    code = next((code for code in codes if code), None)
    return chr(int(code, 16)) if code else _ESCAPES.get(letter, "\\" + letter)


class NotALiteral(Exception):
    """Raised for what is no literal."""


_LITERALS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_INTEGER = re.compile(r"[+-]?[0-9][0-9_]*+")
_BASED = re.compile(r"[+-]?0(?:[xX][0-9a-fA-F]++|[oO][0-7]++|[bB][01]++)")
_FLOAT = re.compile(r"[+-]?(?:[0-9][0-9_]*+\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")


def parse_scalar(word: str) -> Any:
    """Return the value of an unquoted word; raise `NotALiteral` if it has none."""
    if word in _LITERALS:
        return _LITERALS[word]
    try:
        if _INTEGER.fullmatch(word):
            return int(word)
        if _BASED.fullmatch(word):
            return int(word, 0)
        value = float(word) if _FLOAT.fullmatch(word) else None
    except ValueError:  # too many digits
        raise NotALiteral from None
    if value is None or value in {float("inf"), float("-inf")}:
        raise NotALiteral
    return value


class _ValueParser:
    """Parses tokens as values."""

    __slots__ = ("_at", "_tokens")

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens: list[_Token] = [*tokens, ("", None)]
        self._at = 0

    def arguments(self, keys: list[str]) -> dict[str, Any]:
        """Parse all tokens as the arguments of a call; `keys` are the names of the positional ones."""
        given: dict[str, Any] = {}
        position = 0
        while not self._take(""):
            if self._take("*"):
                given.update(self._parse_unpacked())
            elif self._tokens[self._at][0] == _WORD and self._tokens[self._at + 1][0] == "=":
                key = self._tokens[self._at][1]
                self._at += 2
                given[key] = self._parse_value(0)
            elif position < len(keys):
                given[keys[position]] = self._parse_value(0)
                position += 1
            else:
                raise NotALiteral
            self._take_separator("")
        return given

    def _parse_unpacked(self) -> dict[str, Any]:
        value = self._parse_value(0) if self._take("*") else None
        if not isinstance(value, dict):
            raise NotALiteral
        return cast("dict[str, Any]", value)

    def _parse_value(self, depth: int) -> Any:
        kind, said = self._tokens[self._at]
        self._at += 1
        if kind == _TEXT:
            return said
        if kind == _WORD:
            return parse_scalar(said)
        if kind not in _PAIRS or depth == MAX_DEPTH:
            raise NotALiteral
        return self._parse_mapping(depth + 1) if kind == "{" else self._parse_items(kind, depth + 1)

    def _parse_items(self, opener: str, depth: int) -> Any:
        items: list[Any] = []
        comma = False
        while not self._take(_PAIRS[opener]):
            items.append(self._parse_value(depth))
            comma = self._take_separator(_PAIRS[opener])
        return items[0] if opener == "(" and len(items) == 1 and not comma else items

    def _parse_mapping(self, depth: int) -> Any:
        """Parse a dictionary, or a set as a list."""
        members: list[tuple[Any, Any]] = []
        colons = 0
        while not self._take("}"):
            key = self._parse_value(depth)
            colon = self._take(":")
            colons += colon
            members.append((key, self._parse_value(depth) if colon else None))
            self._take_separator("}")
        if colons == len(members):
            return {_key_text(key): value for key, value in members}
        if colons:
            raise NotALiteral
        return [item for item, _ in members]

    def _take(self, kind: str) -> bool:
        if self._tokens[self._at][0] != kind:
            return False
        self._at += 1
        return True

    def _take_separator(self, closer: str) -> bool:
        """Take a comma, which is required unless `closer` is next."""
        if self._take(","):
            return True
        if self._tokens[self._at][0] != closer:
            raise NotALiteral
        return False


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, (dict, list)):
        raise NotALiteral
    return to_json_text(key)


class PythonCall(Struct, frozen=True):
    """A call as far as it was read: `written` if it has an end, `sound` if its arguments are literals."""

    ending: JsonEnding
    written: Written
    sound: bool = False


def read_python_call(tape: Tape, name: str, end: str, offer: OfferedTools) -> Reading[PythonCall]:
    """Read on after `name(`. `end` closes the frame around the call, if there is one."""
    scanner = _CallScanner(tape, end)
    start = tape.place()
    ending = yield from scanner.scan()
    raw = tape.held_since(start)
    if ending != "whole":
        return PythonCall(ending, Written("", name, raw, cut=ending == "cut"))
    try:
        arguments = _ValueParser(scanner.tokens).arguments(list(offer.properties(name)))
    except NotALiteral:
        return PythonCall(ending, Written("", name, raw.removesuffix(")")))
    return PythonCall(ending, Written("", name, to_json_text(arguments)), sound=True)


def spell_python_call(name: str, arguments: dict[str, Any]) -> str:
    """Return a call in Python syntax."""
    given = [
        f"{key}={_spell_literal(value)}" if _KEY.fullmatch(key) and key else f"**{_spell_literal({key: value})}"
        for key, value in arguments.items()
    ]
    return f"{name}({', '.join(given)})"


def _spell_literal(value: object) -> str:
    match value:
        case None | True | False:
            return str(value)
        case list():
            return f"[{', '.join(map(_spell_literal, cast('list[object]', value)))}]"
        case dict():
            members = cast("dict[str, object]", value).items()
            return "{" + ", ".join(f"{to_json_text(key)}: {_spell_literal(item)}" for key, item in members) + "}"
        case _:
            return to_json_text(value)
