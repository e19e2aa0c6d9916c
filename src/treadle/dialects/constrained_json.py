"""The form of a reply that a server constrains to a schema: `{"calls": [{"name": …, "arguments": {…}}]}` or `{"answer": …}`.

`constrained_schema` is the JSON schema of the reply. The parser returns each call when it is complete, and an answer as it
streams; a reply that isn't constrained after all is read like any other. It isn't in the list of dialects, since models don't
write it unasked.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.core.requests import ToolSpec
from treadle.core.seams import Heard, Parser
from treadle.dialects.dialect import format_tool_listing
from treadle.dialects.formats.auto import AUTO
from treadle.dialects.forms import CallMatch, OfferedTools, to_json_text
from treadle.dialects.json_calls import calls_in_cut
from treadle.dialects.scanner import (
    Markers,
    Reading,
    Tape,
    peek,
    peek_ahead,
    take_if_next,
    take_run,
    take_space,
    take_until,
    take_value,
)

MAX_CALLS = 16  # calls in one reply
_BEGINNING = 24  # characters that show which of the two it is
_LESSON = """\
You can use these tools:
{tools}

To call tools, reply with JSON like this, one entry for each call:
{{"calls": [{{"name": "TOOL", "arguments": {{"ARGUMENT": "VALUE"}}}}]}}
Leave out optional arguments that the user says nothing about. If several things are asked for, make a call for each of them.
If none of the tools can do what is asked, reply with {{"answer": "..."}} instead."""

_Schema = dict[str, Any]


def constrained_schema(tools: Sequence[ToolSpec], *, answers: bool = False) -> _Schema:
    """Return the schema of a reply that calls some of these tools; or, with `answers`, that answers instead."""
    definitions: dict[str, _Schema] = {}
    branches = [_call_schema(tool, f"{number}_", definitions) for number, tool in enumerate(tools)]
    listed = {"type": "array", "minItems": 1, "maxItems": MAX_CALLS, "items": {"anyOf": branches}}
    calls: _Schema = {"type": "object", "properties": {"calls": listed}, "required": ["calls"]}
    answer = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    shape = {"anyOf": [answer, calls]} if answers else calls
    return {**shape, "$defs": definitions} if definitions else shape


def _call_schema(tool: ToolSpec, prefix: str, definitions: dict[str, _Schema]) -> _Schema:
    """Return the schema of one call. Definitions that the tool's schema refers to move to the top, under a name of their own."""
    parameters: _Schema = tool.parameters or {"type": "object", "properties": {}}
    for key in ("$defs", "definitions"):
        for name, inner in cast("_Schema", parameters.get(key) or {}).items():
            definitions[prefix + name] = _move_references(inner, prefix)
    arguments = _move_references({key: value for key, value in parameters.items() if key not in {"$defs", "definitions"}}, prefix)
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": arguments},
        "required": ["name", "arguments"],
    }


def _move_references(schema: Any, prefix: str) -> Any:
    """Return a schema whose references point to the new places of their targets."""
    match schema:
        case dict():
            inner = {key: _move_references(value, prefix) for key, value in cast("_Schema", schema).items()}
            target = inner.get("$ref")
            if isinstance(target, str) and target.startswith(("#/$defs/", "#/definitions/")):
                inner["$ref"] = f"#/$defs/{prefix}{target.rpartition('/')[2]}"
            return inner
        case list():
            return [_move_references(value, prefix) for value in cast("list[Any]", schema)]
        case _:
            return schema


class ConstrainedJson(Struct, frozen=True):
    """The dialect of replies that are constrained to a schema."""

    name: str = "held"

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """Return the instructions that explain the tools to a model."""
        return _LESSON.format(tools=format_tool_listing(tools)) if tools else ""

    def spell(self, calls: Sequence[Call], /) -> str:
        """Return the calls as a model writes them."""
        return to_json_text({"calls": [{"name": call.name, "arguments": call.arguments} for call in calls]})

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """Return a parser for one reply."""
        return ConstrainedParser(tools)


CONSTRAINED = ConstrainedJson()


class _Entry(Struct):
    name: str
    arguments: msgspec.Raw


_decode = msgspec.json.Decoder(_Entry).decode


class ConstrainedParser:
    """Parses one reply that should be constrained; see `core.seams.Parser`."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._offer = OfferedTools(tools, forward=True)
        self._tape = Tape()
        self._calls: list[Written] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._free: Parser = AUTO.parser(tools)  # for a reply that isn't held after all
        self._reading = self._read_reply()
        next(self._reading)

    def feed(self, text: str) -> Heard:
        """Return what is certain after this piece."""
        self._tape.more(text)
        next(self._reading)
        return self._take_output()

    def close(self) -> Heard:
        """Return what is left at the end of the reply."""
        self._tape.ended = True
        next(self._reading, None)
        heard, rest = self._take_output(), self._free.close()
        return Heard(heard.text + rest.text, heard.thinking + rest.thinking, (*heard.calls, *rest.calls))

    def _take_output(self) -> Heard:
        heard = Heard("".join(self._text), "".join(self._thinking), tuple(self._calls))
        self._text, self._thinking, self._calls = [], [], []
        return heard

    def _read_reply(self) -> Reading[None]:
        beginning = (yield from peek_ahead(self._tape, _BEGINNING)).split()
        spelled = "".join(beginning)
        if spelled.startswith('{"calls":['):
            yield from self._read_calls()
        elif spelled.startswith('{"answer":"'):
            yield from take_until(self._tape, _COLON)
            self._tape.take(1)
            yield from take_space(self._tape)
            self._tape.take(1)
            yield from self._read_answer()
        else:
            yield from self._read_unconstrained()
        yield from self._skip_rest()

    def _read_calls(self) -> Reading[None]:
        tape = self._tape
        yield from take_until(tape, _LIST)
        tape.take(1)
        while True:
            yield from take_run(tape, _BETWEEN)
            if (yield from peek(tape)) != "{":
                return
            tape.begin_hold()
            ending = yield from take_value(tape, tape.take(1))
            raw = tape.release()
            found = calls_in_cut(raw, self._offer) if ending == "cut" else CallMatch((_parse_call(raw),))
            self._calls += found.calls if found else ()

    def _read_answer(self) -> Reading[None]:
        """Pass on the inside of a string as it streams, with its escapes decoded."""
        while True:
            words, mark = yield from _take_string_part(self._tape)
            self._text.append(words)
            if mark == "\\":
                character = yield from _read_escaped(self._tape)
                self._text.append(character)
            elif mark == '"':
                return

    def _read_unconstrained(self) -> Reading[None]:
        while True:
            heard = self._free.feed(self._tape.take(len(self._tape.window) - self._tape.at))
            self._text.append(heard.text)
            self._thinking.append(heard.thinking)
            self._calls += heard.calls
            if self._tape.ended:
                return
            yield

    def _skip_rest(self) -> Reading[None]:
        """Skip the closing brackets."""
        while not self._tape.ended:
            self._tape.take(len(self._tape.window) - self._tape.at)
            yield


_LIST = Markers("[")
_COLON = Markers(":")
_BETWEEN = re.compile(r"[\s,]+")
_IN_STRING = re.compile(r'[^"\\]+')
_HIGH_SURROGATE = re.compile(r"[\ud800-\udbff]")


def _parse_call(raw: str) -> Written:
    try:
        entry = _decode(raw)
    except msgspec.DecodeError:
        return Written("", "", raw)
    return Written("", entry.name, bytes(entry.arguments).decode())


def _take_string_part(tape: Tape) -> Reading[tuple[str, str]]:
    """Take the available part of a string, and the quote or backslash that ends it, if any.

    The end of the reply counts as a quote.
    """
    following = yield from peek(tape)
    if following in {'"', "\\"}:
        tape.take(1)
        return "", following
    plain = _IN_STRING.match(tape.window, tape.at)
    return (tape.take(plain.end() - tape.at), "") if plain else ("", '"')


def _read_escaped(tape: Tape) -> Reading[str]:
    """Return the character of an escape; reads two escapes for a surrogate pair."""
    spelled = yield from _take_escape(tape)
    if _HIGH_SURROGATE.match(_unescape(spelled)) and (yield from take_if_next(tape, "\\")):
        spelled += yield from _take_escape(tape)
    return _unescape(spelled).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _take_escape(tape: Tape) -> Reading[str]:
    letter = yield from peek_ahead(tape, 1)
    count = 5 if letter == "u" else 1
    spelled = yield from peek_ahead(tape, count)
    tape.take(len(spelled))
    return "\\" + spelled


def _unescape(spelled: str) -> str:
    import json

    try:
        return json.loads(f'"{spelled}"')
    except ValueError:  # cut off in the middle of it
        return ""
