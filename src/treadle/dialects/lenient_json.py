r"""A lenient JSON reader. Reads each character once, from left to right, and accepts nothing that has two possible readings.

Corrected, and noted: trailing commas; single and typographic quotes; bare keys; True, False, None; comments (//, #, /* */);
raw line breaks and tabs in strings; escapes JSON doesn't have (\' and \x41 are decoded, \d keeps its backslash); +5, .5, 5.
and 0x1F; a comma missing between two members on different lines; a code fence around the value; a semicolon after it; lone
surrogates. Not corrected: NaN and Infinity, unquoted words as values, items without a comma, leading zeros, adjacent strings,
backticks, anything after the value.
"""

import re
from typing import Any, cast

DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f"
SINGLE_QUOTES = "\u2018\u2019\u201a\u201b"


class JsonTruncated(Exception):
    """Raised where the text ends inside a value."""


class JsonAmbiguous(Exception):
    """Raised where the text has no single reading; the message says why and where."""


_SPACE = re.compile(r"[\s\ufeff\u200b\u2060]*")
_FENCE = re.compile(r"```(?:[\w+-]*[ \t]*\n|(?:json|python)?)")
_WORD = re.compile(r"(?:[^\W\d]|\$)[\w$.-]*")
_NUMERIC = re.compile(r"[+\-.\w]+")  # taken whole first, so that no pattern below can look at it twice
_NUMBER = re.compile(r"[+-]?(?:[1-9][0-9]*|0)(?:[eE][+-]?[0-9]+|\.[0-9]*(?:[eE][+-]?[0-9]+)?)?|[+-]?\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_STRICT_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")
_UNFINISHED = re.compile(r"[+-]?(?:0[xX]|(?:[1-9][0-9]*|0)?\.?(?:[0-9]*[eE][+-]?)?)")
_CONTROL = re.compile(r"[\x00-\x1f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_INFINITE = (float("inf"), float("-inf"))
_LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_UNSUPPORTED_LITERALS = ("NaN", "Infinity", "undefined")
_RUNS = {  # by the quote that opened a string: what runs up to the one that may close it
    '"': re.compile(r'[^\\"]*'),
    "'": re.compile(r"[^\\']*"),
    **dict.fromkeys(DOUBLE_QUOTES, re.compile(rf"[^\\{DOUBLE_QUOTES}]*")),
    **dict.fromkeys(SINGLE_QUOTES, re.compile(rf"[^\\{SINGLE_QUOTES}]*")),
}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CODES = {
    "u": re.compile(r"[0-9a-fA-F]{4}"),
    "x": re.compile(r"[0-9a-fA-F]{2}"),
    "U": re.compile(r"00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}"),
}


def read_lenient(text: str, deepest: int) -> tuple[Any, tuple[str, ...]]:
    """Return the value in `text` and the list of corrections; raise `JsonTruncated` or `JsonAmbiguous`."""
    reader = _LenientReader(text, deepest)
    value = reader.document()
    return value, tuple(reader.notes) or ("removed unusual spaces",)


class _LenientReader:
    """Reads one text once, from left to right."""

    def __init__(self, text: str, deepest: int) -> None:
        self._text = text
        self._end = len(text)
        self._deepest = deepest
        self._at = 0
        self.notes: dict[str, None] = {}  # a set that keeps its order

    def document(self) -> Any:
        """Return the value that makes up the whole text."""
        self._skip_space()
        if self._at == self._end:
            raise JsonAmbiguous("it is empty")
        fenced = self._fence()
        value = self._value(0)
        self._skip_space()
        if self._take(";"):
            self._note("removed a semicolon")
            self._skip_space()
        if fenced and self._take("```"):
            self._skip_space()
        if self._at < self._end:
            raise self._ambiguous("something follows the value")
        return value

    def _fence(self) -> bool:
        fence = _FENCE.match(self._text, self._at)
        if fence is None:
            return False
        self._at = fence.end()
        self._note("removed a code fence")
        self._skip_space()
        return True

    def _value(self, depth: int) -> Any:
        start = self._peek()
        if depth == self._deepest and start in "{[":
            raise JsonAmbiguous("it is nested too deeply")
        if start == "{":
            return self._read_object(depth + 1)
        if start == "[":
            return self._read_array(depth + 1)
        if start in _RUNS:
            return self._string(start)
        if start in "+-.0123456789":
            return self._read_number()
        return self._read_literal()

    def _read_object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        members: dict[str, Any] = {}
        self._skip_space()
        while self._peek() != "}":
            key = self._key()
            self._skip_space()
            if self._peek() != ":":
                raise self._ambiguous(f"a ':' is missing after the key {key!r}")
            self._at += 1
            self._skip_space()
            members[key] = self._value(depth)
            self._take_separator("}")
        self._at += 1
        return members

    def _read_array(self, depth: int) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        self._skip_space()
        while self._peek() != "]":
            items.append(self._value(depth))
            self._take_separator("]")
        self._at += 1
        return items

    def _take_separator(self, closer: str) -> None:
        lines = self._skip_space()
        following = self._peek()
        if following == ",":
            self._at += 1
            self._skip_space()
            if self._peek() == closer:
                self._note("removed a trailing comma")
        elif following != closer:
            if closer == "]" or not lines:
                raise self._ambiguous(f"a ',' or '{closer}' is missing")
            self._note("added a missing comma")

    def _key(self) -> str:
        start = self._peek()
        if start in _RUNS:
            return self._string(start)
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._ambiguous("a key in quotes is missing")
        self._at = word.end()
        self._note("put quotes around a bare key")
        return word.group()

    def _string(self, quote: str) -> str:
        if quote != '"':
            self._note("read single quotes as double quotes" if quote == "'" else "read typographic quotes as plain ones")
        run = _RUNS[quote]
        parts: list[str] = []
        self._at += 1
        while True:
            plain = cast("re.Match[str]", run.match(self._text, self._at))  # it matches nothing as well
            parts.append(plain.group())
            self._at = plain.end()
            if _CONTROL.search(plain.group()):
                self._note("kept a raw line break or tab in a string")
            if self._peek() != "\\":
                break
            parts.append(self._read_escape())
        self._at += 1
        return self._join_surrogates("".join(parts))

    def _join_surrogates(self, string: str) -> str:
        """Return the string with its surrogates joined in pairs, as JSON spells characters beyond the first 65,536."""
        if not _SURROGATE.search(string):
            return string
        joined = string.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "\ufffd" in joined:
            self._note("replaced half a character")
        return joined

    def _read_escape(self) -> str:
        self._at += 1
        letter = self._peek()
        self._at += 1
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        code = _CODES[letter].match(self._text, self._at) if letter in _CODES else None
        if letter != "u" or code is None:
            self._note("read an escape that JSON doesn't have")
        if code is not None:
            self._at = code.end()
            return chr(int(code.group(), 16))
        return letter if letter in _RUNS else "\\" + letter

    def _read_number(self) -> int | float:
        token = cast("re.Match[str]", _NUMERIC.match(self._text, self._at))  # its first character is one of these
        spelled = token.group()
        try:
            value = self._parse_number(spelled)
        except ValueError:
            raise JsonAmbiguous("it has a number with too many digits") from None
        if value is None:
            if token.end() == self._end and _UNFINISHED.fullmatch(spelled):
                raise JsonTruncated
            raise self._ambiguous("this is no JSON number")
        if value in _INFINITE:
            raise self._ambiguous("this number is too large")
        self._at = token.end()
        return value

    def _parse_number(self, spelled: str) -> int | float | None:
        if _HEXADECIMAL.fullmatch(spelled):
            self._note("read a number JSON spells otherwise")
            return int(spelled, 16)
        if not _NUMBER.fullmatch(spelled):
            return None
        if not _STRICT_NUMBER.fullmatch(spelled):
            self._note("read a number JSON spells otherwise")
        return float(spelled) if any(mark in spelled for mark in ".eE") else int(spelled)

    def _read_literal(self) -> Any:
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._ambiguous("a value is missing")
        spelled = word.group()
        if spelled not in _LITERALS:
            if word.end() == self._end and any(literal.startswith(spelled) for literal in _LITERALS):
                raise JsonTruncated
            raise self._ambiguous("JSON has no such value" if spelled in _UNSUPPORTED_LITERALS else "a value needs quotes")
        self._at = word.end()
        if spelled[0].isupper():
            self._note("read True, False or None")
        return _LITERALS[spelled]

    def _skip_space(self) -> bool:
        """Skip space and comments; return whether a line ended there."""
        start = self._at
        while True:
            space = cast("re.Match[str]", _SPACE.match(self._text, self._at))  # it matches nothing as well
            self._at = space.end()
            if not self._skip_comment():
                return "\n" in self._text[start : self._at]

    def _skip_comment(self) -> bool:
        if self._text.startswith(("//", "#"), self._at):
            closer, missing = "\n", self._end
        elif self._text.startswith("/*", self._at):
            closer, missing = "*/", -1
        else:
            return False
        found = self._text.find(closer, self._at + 1 + (closer == "*/"))
        self._note("removed a comment")
        self._at = found + len(closer) if found >= 0 else missing
        if self._at < 0:
            raise JsonTruncated
        return True

    def _peek(self) -> str:
        if self._at >= self._end:
            raise JsonTruncated
        return self._text[self._at]

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        return True

    def _note(self, words: str) -> None:
        self.notes[words] = None

    def _ambiguous(self, what: str) -> JsonAmbiguous:
        near = self._text[self._at : self._at + 20]
        return JsonAmbiguous(f"{what} at character {self._at + 1}, before {near!r}")
