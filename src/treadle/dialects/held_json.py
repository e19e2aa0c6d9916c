"""The form a reply is held to where a server can do that: `{"calls": [{"name": …, "arguments": {…}}]}` or `{"answer": …}`.

`shape_of` is the JSON schema it is held to. The parser gives each call when it is written, and an answer as it comes; a reply that
isn't held after all is read like any other. It isn't in the list of dialects, since nobody writes it unasked.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.core.requests import ToolSpec
from treadle.core.seams import Heard, Parser
from treadle.dialects.every import AUTO
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Found, Offer, json_text
from treadle.dialects.scan import Markers, Reading, Tape, look, peek, run, space, took, until
from treadle.dialects.shapes import calls_in_cut
from treadle.dialects.teach import listing

MOST = 16  # calls in one reply
_BEGINNING = 24  # characters that show which of the two it is
_LESSON = """\
You can use these tools:
{tools}

To call tools, reply with JSON like this, one entry for each call:
{{"calls": [{{"name": "TOOL", "arguments": {{"ARGUMENT": "VALUE"}}}}]}}
Leave out optional arguments that the user says nothing about. If several things are asked for, make a call for each of them.
If none of the tools can do what is asked, reply with {{"answer": "..."}} instead."""

_Schema = dict[str, Any]


def shape_of(tools: Sequence[ToolSpec], *, answers: bool = False) -> _Schema:
    """The schema of a reply that calls some of these tools; or, with `answers`, that answers instead."""
    definitions: dict[str, _Schema] = {}
    branches = [_call_shape(tool, f"{number}_", definitions) for number, tool in enumerate(tools)]
    listed = {"type": "array", "minItems": 1, "maxItems": MOST, "items": {"anyOf": branches}}
    calls: _Schema = {"type": "object", "properties": {"calls": listed}, "required": ["calls"]}
    answer = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    shape = {"anyOf": [answer, calls]} if answers else calls
    return {**shape, "$defs": definitions} if definitions else shape


def _call_shape(tool: ToolSpec, prefix: str, definitions: dict[str, _Schema]) -> _Schema:
    """The schema of one call. What the tool's schema refers to moves to the top, under a name of its own."""
    parameters: _Schema = tool.parameters or {"type": "object", "properties": {}}
    for key in ("$defs", "definitions"):
        for name, inner in cast("_Schema", parameters.get(key) or {}).items():
            definitions[prefix + name] = _moved(inner, prefix)
    arguments = _moved({key: value for key, value in parameters.items() if key not in {"$defs", "definitions"}}, prefix)
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": arguments},
        "required": ["name", "arguments"],
    }


def _moved(schema: Any, prefix: str) -> Any:
    """A schema whose references go to where their targets are now."""
    match schema:
        case dict():
            inner = {key: _moved(value, prefix) for key, value in cast("_Schema", schema).items()}
            target = inner.get("$ref")
            if isinstance(target, str) and target.startswith(("#/$defs/", "#/definitions/")):
                inner["$ref"] = f"#/$defs/{prefix}{target.rpartition('/')[2]}"
            return inner
        case list():
            return [_moved(value, prefix) for value in cast("list[Any]", schema)]
        case _:
            return schema


class HeldJson(Struct, frozen=True):
    """The dialect of replies that are held to a shape."""

    name: str = "held"

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """How to tell a model about tools."""
        return _LESSON.format(tools=listing(tools)) if tools else ""

    def spell(self, calls: Sequence[Call], /) -> str:
        """The calls as a model writes them."""
        return json_text({"calls": [{"name": call.name, "arguments": call.arguments} for call in calls]})

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """A parser for one reply."""
        return HeldParser(tools)


HELD = HeldJson()


class _Entry(Struct):
    name: str
    arguments: msgspec.Raw


_decode = msgspec.json.Decoder(_Entry).decode


class HeldParser:
    """Reads one reply that should be held; see `core.seams.Parser`."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._offer = Offer(tools, forward=True)
        self._tape = Tape()
        self._calls: list[Written] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._free: Parser = AUTO.parser(tools)  # for a reply that isn't held after all
        self._reading = self._reply()
        next(self._reading)

    def feed(self, text: str) -> Heard:
        """What is certain after this piece."""
        self._tape.more(text)
        next(self._reading)
        return self._heard()

    def close(self) -> Heard:
        """What is left when the reply is over."""
        self._tape.ended = True
        next(self._reading, None)
        heard, rest = self._heard(), self._free.close()
        return Heard(heard.text + rest.text, heard.thinking + rest.thinking, (*heard.calls, *rest.calls))

    def _heard(self) -> Heard:
        heard = Heard("".join(self._text), "".join(self._thinking), tuple(self._calls))
        self._text, self._thinking, self._calls = [], [], []
        return heard

    def _reply(self) -> Reading[None]:
        beginning = (yield from look(self._tape, _BEGINNING)).split()
        spelled = "".join(beginning)
        if spelled.startswith('{"calls":['):
            yield from self._listed()
        elif spelled.startswith('{"answer":"'):
            yield from until(self._tape, _COLON)
            self._tape.take(1)
            yield from space(self._tape)
            self._tape.take(1)
            yield from self._answer()
        else:
            yield from self._unheld()
        yield from self._rest()

    def _listed(self) -> Reading[None]:
        tape = self._tape
        yield from until(tape, _LIST)
        tape.take(1)
        while True:
            yield from run(tape, _BETWEEN)
            if (yield from peek(tape)) != "{":
                return
            tape.begin()
            ending = yield from take_value(tape, tape.take(1))
            raw = tape.release()
            found = calls_in_cut(raw, self._offer) if ending == "cut" else Found((_call(raw),))
            self._calls += found.calls if found else ()

    def _answer(self) -> Reading[None]:
        """Passes on the inside of a string as it comes, without its escapes."""
        while True:
            words, mark = yield from _some(self._tape)
            self._text.append(words)
            if mark == "\\":
                character = yield from _escaped(self._tape)
                self._text.append(character)
            elif mark == '"':
                return

    def _unheld(self) -> Reading[None]:
        while True:
            heard = self._free.feed(self._tape.take(len(self._tape.window) - self._tape.at))
            self._text.append(heard.text)
            self._thinking.append(heard.thinking)
            self._calls += heard.calls
            if self._tape.ended:
                return
            yield

    def _rest(self) -> Reading[None]:
        """What follows is brackets."""
        while not self._tape.ended:
            self._tape.take(len(self._tape.window) - self._tape.at)
            yield


_LIST = Markers("[")
_COLON = Markers(":")
_BETWEEN = re.compile(r"[\s,]+")
_IN_STRING = re.compile(r'[^"\\]+')
_HALF = re.compile(r"[\ud800-\udbff]")


def _call(raw: str) -> Written:
    try:
        entry = _decode(raw)
    except msgspec.DecodeError:
        return Written("", "", raw)
    return Written("", entry.name, bytes(entry.arguments).decode())


def _some(tape: Tape) -> Reading[tuple[str, str]]:
    """What is there of a string, and the quote or backslash that ends it, if one does. The reply's end is as good as a quote."""
    following = yield from peek(tape)
    if following in {'"', "\\"}:
        tape.take(1)
        return "", following
    plain = _IN_STRING.match(tape.window, tape.at)
    return (tape.take(plain.end() - tape.at), "") if plain else ("", '"')


def _escaped(tape: Tape) -> Reading[str]:
    """The character that an escape stands for; two escapes where one is half a character."""
    spelled = yield from _escape(tape)
    if _HALF.match(_unescaped(spelled)) and (yield from took(tape, "\\")):
        spelled += yield from _escape(tape)
    return _unescaped(spelled).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(tape: Tape) -> Reading[str]:
    letter = yield from look(tape, 1)
    count = 5 if letter == "u" else 1
    spelled = yield from look(tape, count)
    tape.take(len(spelled))
    return "\\" + spelled


def _unescaped(spelled: str) -> str:
    import json

    try:
        return json.loads(f'"{spelled}"')
    except ValueError:  # cut off in the middle of it
        return ""
