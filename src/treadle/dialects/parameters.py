"""The tagged parameters of a call, read as they arrive: `<parameter=path>.</parameter>`. What they mean is `meaning`'s business.

A value is raw text up to the tag that closes it, and that only counts as such where something may follow that follows values; so
text with tags in it comes through. Closing tags may be missing where what comes next can't be part of the value. In place of
the parameters there may be a JSON object.
"""

import re
from collections.abc import Container
from typing import Any, Literal

from msgspec import Struct

from treadle.dialects import mend
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Offer, Place, json_text
from treadle.dialects.meaning import Raw, arguments_of
from treadle.dialects.scan import Markers, Reading, Tape, peek, until
from treadle.dialects.tags import attribute_value, coming, gap, rest_of_tag, unquoted

Naming = Literal["plain", "attribute", "pair"]
Layout = Literal["none", "lines", "all"]
Ending = Literal["whole", "ended", "cut", "broken"]  # `ended`: the reply did, after a value that was closed

CDATA, CDATA_END = "<![CDATA[", "]]>"

_CDATA_ENDS = Markers((CDATA_END,))
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_ENTITY = re.compile(r"&(?:\w{2,8}|#\w{1,7});")
_STRING = re.compile(r"""\sstring\s*=\s*["']?(true|false)""")


class Tags(Struct, frozen=True):
    """The tags of one family.

    opens     what a call may begin with, up to its name
    close     what closes a call
    keys      what a parameter may begin with, up to its name
    end       what closes a value
    wraps     tags around one or several calls, each with what closes it
    between   what else may stand between calls, and says nothing
    naming    `plain`: names stand as they are, up to a `>`; `attribute`: as the value of an attribute;
              `pair`: a call's name ends where a tag begins, a parameter's has tags of its own before those of its value
    pair      what closes a name, opens a value, and may follow a call's name, where they are such pairs
    layout    what space around a value is no part of it: none, a line break on each side, or all
    cdata     values may be wrapped in CDATA, and have entities in them
    quoted    strings may stand in quotes
    declared  only tools on offer are called so; other names are words
    shut      a call that lacks its closing tag is cut off, even if its values are closed
    place     where a call may stand without a tag around it; see `Form`
    """

    opens: tuple[str, ...]
    close: str
    keys: tuple[str, ...]
    end: str
    wraps: tuple[tuple[str, str], ...] = ()
    between: tuple[str, ...] = ()
    naming: Naming = "attribute"
    pair: tuple[str, str, str] = ("</arg_key>", "<arg_value>", "<tool_sep>")
    layout: Layout = "none"
    cdata: bool = False
    quoted: bool = False
    declared: bool = False
    shut: bool = False
    place: Place = "line"


class Parameters(Struct, frozen=True):
    """What follows the name of a call: its arguments, or a JSON object as `body`; and how it ended."""

    ending: Ending
    arguments: dict[str, Any] = {}
    body: str = ""


class _Key(Struct, frozen=True):
    """A parameter's name, and what its tag says of its type."""

    name: str
    string: bool | None = None


class _Value(Struct, frozen=True):
    """A raw text, and what was taken behind it: the end of the call, or the beginning of the next parameter."""

    text: str
    closed: bool = False
    next: _Key | None = None


class ParameterReader:
    """Reads what follows the name of a call with these tags."""

    def __init__(self, tags: Tags) -> None:
        self._tags = tags
        closers = tuple(close for _, close in tags.wraps)
        self._beyond = (*closers, *tags.opens, *(mark for mark, _ in tags.wraps))  # what ends a call without its own end
        self._inside = (tags.close, tags.end, *tags.keys, *self._beyond)
        self._in_value = Markers((tags.end, tags.close, *tags.keys, *((CDATA,) if tags.cdata else ())))
        self._key_ends = Markers((tags.pair[0],))

    def read(self, tape: Tape, name: str, offer: Offer) -> Reading[Parameters]:
        """Takes all parameters, and the end of the call."""
        yield from gap(tape)
        if (yield from peek(tape)) == "{":
            return (yield from self._body(tape))
        given: dict[str, list[Raw]] = {}
        ending = yield from self._collect(tape, given, offer.properties(name))
        return Parameters(ending, arguments_of(given, name, offer))

    def _collect(self, tape: Tape, given: dict[str, list[Raw]], properties: Container[str]) -> Reading[Ending]:
        key = yield from self._next(tape)
        while isinstance(key, _Key):
            name = unquoted(key.name, properties.__contains__)
            value = yield from self._value(tape, {name, *given}, properties)
            if value is None:
                return "cut"
            given.setdefault(name, []).append(Raw(self._text(value.text), key.string, self._tags.quoted))
            if value.closed:
                return "whole"
            key = value.next or (yield from self._next(tape))
        return key

    def _body(self, tape: Tape) -> Reading[Parameters]:
        """A JSON object in place of the parameters."""
        start = tape.place()
        ending = yield from take_value(tape, tape.take(1))
        text = tape.since(start)
        if ending != "whole":
            return Parameters(ending, body=text)
        outcome = mend.read_object(text)
        after = yield from self._next(tape)
        body = json_text(outcome.value) if isinstance(outcome, mend.Read) else text
        return Parameters("broken" if isinstance(after, _Key) else after, body=body)

    def _next(self, tape: Tape) -> Reading[_Key | Ending]:
        """The next parameter, or how they end. A value may be closed twice, and a name without a value is passed over."""
        while True:
            yield from gap(tape)
            word = yield from coming(tape, self._inside)
            if word is None:
                return "broken"
            if not word:
                tape.take(len(tape.window) - tape.at)
                return "ended"
            if word in self._beyond:
                return "whole"
            tape.take(len(word))
            if word == self._tags.close:
                return "whole"
            key = (yield from self._key(tape)) if word in self._tags.keys else None
            if key is not None:
                return key

    def _key(self, tape: Tape) -> Reading[_Key | Ending | None]:
        """The name of a parameter whose tag was begun; None where it has no value."""
        if self._tags.naming == "pair":
            return (yield from self._key_of_pair(tape))
        text, mark = yield from rest_of_tag(tape)
        if mark != ">":
            return "broken" if mark else "cut"
        if self._tags.naming == "plain":
            return _Key(text.strip())
        string = _STRING.search(text)
        return _Key(attribute_value(text), None if string is None else string[1] == "true")

    def _key_of_pair(self, tape: Tape) -> Reading[_Key | Ending | None]:
        name, mark = yield from until(tape, self._key_ends)
        tape.take(len(mark))
        yield from gap(tape)
        opens = self._tags.pair[1]
        word = yield from coming(tape, (opens, *self._inside))
        if not mark or word == "":
            return "cut"
        if word == opens:
            tape.take(len(opens))
            return _Key(name.strip())
        return "broken" if word is None else None

    def _value(self, tape: Tape, names: set[str], properties: Container[str]) -> Reading[_Value | None]:
        """The raw text up to where it ends; None where the reply ends first. `names` are those that were given so far."""
        start = tape.place()
        while True:
            _, mark = yield from until(tape, self._in_value)
            end = tape.place()
            tape.take(len(mark))
            if not mark:
                return None
            if mark == CDATA:
                _, mark = yield from until(tape, _CDATA_ENDS)
                tape.take(len(mark))
            elif mark in self._tags.keys:
                key = yield from self._key(tape)
                if isinstance(key, _Key) and key.name not in names and (not properties or key.name in properties):
                    return _Value(tape.since(start, end), next=key)
            elif (yield from self._ends(tape, self._inside if mark == self._tags.end else self._beyond)):
                return _Value(tape.since(start, end), closed=mark == self._tags.close)

    def _ends(self, tape: Tape, words: tuple[str, ...]) -> Reading[bool]:
        """Whether what was taken for an end is one: one of `words` follows, or nothing does."""
        yield from gap(tape)
        return (yield from coming(tape, words)) is not None

    def _text(self, raw: str) -> str:
        """A value without its layout, its CDATA or its entities."""
        if self._tags.layout == "lines":
            return raw.removeprefix("\n").removesuffix("\n")
        text = raw.strip() if self._tags.layout == "all" else raw
        if not self._tags.cdata:
            return text
        if text.startswith(CDATA):
            return "".join(_CDATA.findall(text))
        return text if "<" in text or len(_ENTITY.findall(text)) < text.count("&") else _decoded(text)


def _decoded(text: str) -> str:
    from html import unescape  # its table takes longer to load than most runs take to never need it

    return unescape(text)
