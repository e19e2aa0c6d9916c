"""Reads the tagged parameters of a call as they arrive: `<parameter=path>.</parameter>`. `argument_values` converts them.

A value is raw text up to its closing tag, which only counts if something follows that may follow a value; so text with tags
in it is read correctly. Closing tags may be missing where the next text can't be part of the value. A JSON object may stand
in place of the parameters.
"""

import re
from collections.abc import Callable, Container
from typing import Any, Literal

from msgspec import Struct

from treadle.dialects import json_repair
from treadle.dialects.argument_values import RawValue, convert_arguments
from treadle.dialects.forms import OfferedTools, Placement, to_json_text
from treadle.dialects.scanner import Markers, Reading, Tape, peek, take_if_next, take_space, take_until, take_value

_HEAD_ENDS = Markers(("<", ">", "\n"))
_ATTRIBUTE_VALUE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/]+))""")
_MAX_GAP = 64  # characters of space beyond which a tag doesn't belong to what stands before it
NameStyle = Literal["plain", "attribute", "pair"]
Layout = Literal["none", "lines", "all"]
ParametersEnding = Literal["whole", "ended", "cut", "broken"]  # `ended`: the reply did, after a value that was closed

CDATA, CDATA_END = "<![CDATA[", "]]>"

_CDATA_ENDS = Markers((CDATA_END,))
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_ENTITY = re.compile(r"&(?:\w{2,8}|#\w{1,7});")
_STRING = re.compile(r"""\sstring\s*=\s*["']?(true|false)""")


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


class ParameterTags(Struct, frozen=True):
    """The tags of one family.

    opens     what a call may begin with, up to its name
    close     what closes a call
    keys      what a parameter may begin with, up to its name
    end       what closes a value
    wraps     tags around one or several calls, each with what closes it
    between   what else may stand between calls, without a meaning
    naming    `plain`: names are literal, up to a `>`; `attribute`: the value of an attribute;
              `pair`: a call's name ends where a tag begins, a parameter's has tags of its own before those of its value
    pair      what closes a name, opens a value, and may follow a call's name, for such pairs
    layout    which space around a value is no part of it: none, a line break on each side, or all
    cdata     values may be wrapped in CDATA and contain entities
    quoted    strings may be in quotes
    declared  only offered tools are called this way; other names are text
    shut      a call without its closing tag is cut off, even if its values are closed
    place     where a call may stand without a tag around it; see `Form`
    """

    opens: tuple[str, ...]
    close: str
    keys: tuple[str, ...]
    end: str
    wraps: tuple[tuple[str, str], ...] = ()
    between: tuple[str, ...] = ()
    naming: NameStyle = "attribute"
    pair: tuple[str, str, str] = ("</arg_key>", "<arg_value>", "<tool_sep>")
    layout: Layout = "none"
    cdata: bool = False
    quoted: bool = False
    declared: bool = False
    shut: bool = False
    place: Placement = "line"


class CallParameters(Struct, frozen=True):
    """What follows the name of a call: its arguments, or a JSON object as `body`; and how it ended."""

    ending: ParametersEnding
    arguments: dict[str, Any] = {}
    body: str = ""


class _Key(Struct, frozen=True):
    """A parameter's name, and the type that its tag states."""

    name: str
    string: bool | None = None


class _Value(Struct, frozen=True):
    """A raw text, and what was taken after it: the end of the call, or the beginning of the next parameter."""

    text: str
    closed: bool = False
    next: _Key | None = None


class ParameterReader:
    """Reads what follows the name of a call with these tags."""

    def __init__(self, tags: ParameterTags) -> None:
        self._tags = tags
        closers = tuple(close for _, close in tags.wraps)
        self._beyond = (*closers, *tags.opens, *(mark for mark, _ in tags.wraps))  # what ends a call without its own end
        self._inside = (tags.close, tags.end, *tags.keys, *self._beyond)
        self._in_value = Markers((tags.end, tags.close, *tags.keys, *((CDATA,) if tags.cdata else ())))
        self._key_ends = Markers((tags.pair[0],))

    def read(self, tape: Tape, name: str, offer: OfferedTools) -> Reading[CallParameters]:
        """Take all parameters, and the end of the call."""
        yield from skip_gap(tape)
        if (yield from peek(tape)) == "{":
            return (yield from self._read_json_body(tape))
        given: dict[str, list[RawValue]] = {}
        ending = yield from self._collect(tape, given, offer.properties(name))
        return CallParameters(ending, convert_arguments(given, name, offer))

    def _collect(self, tape: Tape, given: dict[str, list[RawValue]], properties: Container[str]) -> Reading[ParametersEnding]:
        key = yield from self._next(tape)
        while isinstance(key, _Key):
            name = unquote_known(key.name, properties.__contains__)
            value = yield from self._value(tape, {name, *given}, properties)
            if value is None:
                return "cut"
            given.setdefault(name, []).append(RawValue(self._text(value.text), key.string, self._tags.quoted))
            if value.closed:
                return "whole"
            key = value.next or (yield from self._next(tape))
        return key

    def _read_json_body(self, tape: Tape) -> Reading[CallParameters]:
        """Read a JSON object in place of the parameters."""
        start = tape.place()
        ending = yield from take_value(tape, tape.take(1))
        text = tape.held_since(start)
        if ending != "whole":
            return CallParameters(ending, body=text)
        outcome = json_repair.read_object(text)
        after = yield from self._next(tape)
        body = to_json_text(outcome.value) if isinstance(outcome, json_repair.JsonRead) else text
        return CallParameters("broken" if isinstance(after, _Key) else after, body=body)

    def _next(self, tape: Tape) -> Reading[_Key | ParametersEnding]:
        """Read the next parameter's key, or how the parameters end.

        A value may be closed twice; a name without a value is skipped.
        """
        while True:
            yield from skip_gap(tape)
            word = yield from peek_word(tape, self._inside)
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
            key = (yield from self._read_key(tape)) if word in self._tags.keys else None
            if key is not None:
                return key

    def _read_key(self, tape: Tape) -> Reading[_Key | ParametersEnding | None]:
        """Read the name of a parameter whose tag has begun; None if it has no value."""
        if self._tags.naming == "pair":
            return (yield from self._read_paired_key(tape))
        text, mark = yield from take_tag(tape)
        if mark != ">":
            return "broken" if mark else "cut"
        if self._tags.naming == "plain":
            return _Key(text.strip())
        string = _STRING.search(text)
        return _Key(parse_attribute_value(text), None if string is None else string[1] == "true")

    def _read_paired_key(self, tape: Tape) -> Reading[_Key | ParametersEnding | None]:
        name, mark = yield from take_until(tape, self._key_ends)
        tape.take(len(mark))
        yield from skip_gap(tape)
        opens = self._tags.pair[1]
        word = yield from peek_word(tape, (opens, *self._inside))
        if not mark or word == "":
            return "cut"
        if word == opens:
            tape.take(len(opens))
            return _Key(name.strip())
        return "broken" if word is None else None

    def _value(self, tape: Tape, names: set[str], properties: Container[str]) -> Reading[_Value | None]:
        """Read the raw text up to its end; None if the reply ends first. `names` are the parameters given so far."""
        start = tape.place()
        while True:
            _, mark = yield from take_until(tape, self._in_value)
            end = tape.place()
            tape.take(len(mark))
            if not mark:
                return None
            if mark == CDATA:
                _, mark = yield from take_until(tape, _CDATA_ENDS)
                tape.take(len(mark))
            elif mark in self._tags.keys:
                key = yield from self._read_key(tape)
                if isinstance(key, _Key) and key.name not in names and (not properties or key.name in properties):
                    return _Value(tape.held_since(start, end), next=key)
            elif (yield from self._is_end(tape, self._inside if mark == self._tags.end else self._beyond)):
                return _Value(tape.held_since(start, end), closed=mark == self._tags.close)

    def _is_end(self, tape: Tape, words: tuple[str, ...]) -> Reading[bool]:
        """Return whether a possible end is one: one of `words` follows, or nothing does."""
        yield from skip_gap(tape)
        return (yield from peek_word(tape, words)) is not None

    def _text(self, raw: str) -> str:
        """Return a value without its layout, CDATA and entities."""
        if self._tags.layout == "lines":
            return raw.removeprefix("\n").removesuffix("\n")
        text = raw.strip() if self._tags.layout == "all" else raw
        if not self._tags.cdata:
            return text
        if text.startswith(CDATA):
            return "".join(_CDATA.findall(text))
        return text if "<" in text or len(_ENTITY.findall(text)) < text.count("&") else _decode_entities(text)


def _decode_entities(text: str) -> str:
    from html import unescape  # its table takes longer to load than most runs take to never need it

    return unescape(text)
