"""Calls in braces, `call:name{key:value,…}`, where a token stands for the quote: `call:ls{path:<|"|>.<|"|>,all:true}`.

A member of the family is a row in this module. Between the tokens everything is literal text. An unquoted value is a number,
true, false or null, or else text too; the tool's schema decides. Plain quotes are accepted where a value begins with one.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects import json_repair
from treadle.dialects.argument_values import convert_value, resolve_reference, schema_types
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import CallMatch, Form, OfferedTools, ThinkingFrame, take_closer, to_json_text
from treadle.dialects.python_calls import NotALiteral, parse_scalar
from treadle.dialects.scanner import Markers, Reading, Tape, is_next, peek, take_if_next, take_run, take_space, take_until

_NAME = re.compile(r"[\w.:/-]+")
_PLAIN_KEY = re.compile(r"[\w.-]+")
_QUICK_KEY = re.compile(r"([\w.-]++):(?=[^\s])")
_QUICK_WORD = re.compile(r"([\w.+-]++)(?=[,}\]])")
_QUICK_WORDS = re.compile(r"(?:[\w.+-]++,)+")
_PLAIN_QUOTES = {quote: Markers((quote, "\\")) for quote in "\"'"}


class BraceFrame(Struct, frozen=True):
    """The tokens of a family: around a call, and on both sides of a text."""

    open: str
    close: str
    quote: str


class _UnquotedText(str):
    """A value without quotes."""

    __slots__ = ()


class _TextEnded(Exception):
    """Raised where the reply ends inside a value."""


class _BraceReader:
    """Reads the inside of braces; raises `_TextEnded` or `NotALiteral`."""

    __slots__ = ("_close", "_in_bare", "_in_key", "_in_text", "_over", "_quote", "_tape")

    def __init__(self, tape: Tape, frame: BraceFrame) -> None:
        self._tape = tape
        self._quote = frame.quote
        self._close = frame.close
        self._in_text = Markers((frame.quote,))
        self._in_key = Markers((*":,{}[]", frame.close))
        self._in_bare = Markers((*",}]", frame.close))
        self._over = False  # whether the call has ended, though its brace is missing

    def members(self, depth: int) -> Reading[dict[str, Any]]:
        """Read the rest of an object, after its opening brace."""
        members: dict[str, Any] = {}
        while not (yield from self._is_closed("}", depth)):
            key = yield from self._key(depth)
            members[key] = yield from self._value(depth)
            yield from self._take_comma("}", depth, members[key])
        return members

    def _read_items(self, depth: int) -> Reading[list[Any]]:
        items: list[Any] = []
        while not (yield from self._is_closed("]", depth)):
            quick = _QUICK_WORDS.match(self._tape.window, self._tape.at)
            if quick is not None:
                items += map(_UnquotedText, self._tape.take(quick.end() - self._tape.at)[:-1].split(","))
                continue
            items.append((yield from self._value(depth)))
            yield from self._take_comma("]", depth, items[-1])
        return items

    def _is_closed(self, closer: str, depth: int) -> Reading[bool]:
        """Return whether a bracket is closed here. The call's own may be missing if the frame around it is closed."""
        if self._over:
            return True
        yield from take_space(self._tape)
        if (yield from take_if_next(self._tape, closer)):
            return True
        if not (yield from peek(self._tape)):
            raise _TextEnded
        return depth == 0 and (yield from is_next(self._tape, self._close))

    def _take_comma(self, closer: str, depth: int, value: object) -> Reading[None]:
        """Take the comma after a value. Unless the end follows, it may be missing only after a text that was closed."""
        if self._over:
            return
        yield from take_space(self._tape)
        if (yield from take_if_next(self._tape, ",")):
            return
        following = yield from peek(self._tape)
        if not following:
            self._over = depth == 0 and type(value) is not _UnquotedText
        elif following != closer and type(value) is not str and (depth or following != self._close[0]):
            raise NotALiteral

    def _key(self, depth: int) -> Reading[str]:
        quick = _QUICK_KEY.match(self._tape.window, self._tape.at)
        if quick is not None:
            self._tape.take(quick.end() - self._tape.at)
            return quick[1]
        quoted = yield from self._read_quoted(depth)
        text, mark = yield from take_until(self._tape, self._in_key)
        if mark != ":":
            raise NotALiteral if mark else _TextEnded
        self._tape.take(1)
        yield from take_space(self._tape)
        return text.strip() if quoted is None else quoted

    def _value(self, depth: int) -> Reading[Any]:
        tape = self._tape
        quick = _QUICK_WORD.match(tape.window, tape.at)
        if quick is not None:
            return _UnquotedText(tape.take(quick.end() - tape.at))
        quoted = yield from self._read_quoted(depth)
        if quoted is not None:
            return quoted
        opener = yield from peek(tape)
        if opener not in {"{", "["}:
            return (yield from self._read_unquoted(""))
        if depth == json_repair.MAX_DEPTH:
            raise NotALiteral
        tape.take(1)
        return (yield from (self.members if opener == "{" else self._read_items)(depth + 1))

    def _read_quoted(self, depth: int) -> Reading[str | None]:
        """Read a quoted text of any kind, if there is one here."""
        if (yield from take_if_next(self._tape, self._quote)):
            return (yield from self._text(depth))
        first = yield from peek(self._tape)
        return (yield from self._string(self._tape.take(1))) if first in _PLAIN_QUOTES else None

    def _text(self, depth: int) -> Reading[str]:
        """Read a text up to its closing token. Without one it ends where the call does, if the call is closed."""
        text, mark = yield from take_until(self._tape, self._in_text)
        if mark:
            self._tape.take(len(mark))
            return text
        kept = text.rstrip().removesuffix("}" + self._close)
        if depth or len(kept) == len(text.rstrip()):
            raise _TextEnded
        self._over = True
        return kept

    def _string(self, quote: str) -> Reading[str]:
        """Read a text in plain quotes. If more follows the second quote, the value wasn't quoted but begins with a quotation."""
        parts: list[str] = []
        while True:
            text, mark = yield from take_until(self._tape, _PLAIN_QUOTES[quote])
            parts.append(text)
            if not mark:
                raise _TextEnded
            if self._tape.take(1) == quote:
                break
            parts.append("\\" + (self._tape.take(1) if (yield from peek(self._tape)) else ""))
        raw = "".join(parts)
        gap = yield from take_space(self._tape)
        yield from take_if_next(self._tape, self._quote)  # some models close a text with both
        if (yield from peek(self._tape)) in {"", ",", "}", "]", ":"} or (yield from is_next(self._tape, self._close)):
            return _unescape(raw) if quote == '"' else raw
        return (yield from self._read_unquoted(quote + raw + quote + gap))

    def _read_unquoted(self, begun: str) -> Reading[_UnquotedText]:
        text, mark = yield from take_until(self._tape, self._in_bare)
        if not mark:
            raise _TextEnded
        return _UnquotedText((begun + text).strip())


def _unescape(raw: str) -> str:
    outcome = json_repair.read_json(f'"{raw}"')
    return outcome.value if isinstance(outcome, json_repair.JsonRead) else raw


def _convert(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Convert a value to what the tool's schema asks for."""
    schema = resolve_reference(schema, root)
    if isinstance(value, dict):
        properties = cast("dict[str, Any]", schema.get("properties") or {})
        return {key: _convert(item, properties.get(key) or {}, root) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [
            _convert(item, cast("dict[str, Any]", items) if isinstance(items, dict) else {}, root)
            for item in cast("list[Any]", value)
        ]
    kinds = schema_types(schema, root)
    if kinds and (type(value) is _UnquotedText or "string" not in kinds):
        return convert_value(str(value), schema, root)
    return _parse_scalar(value) if type(value) is _UnquotedText else value


def _parse_scalar(value: str) -> Any:
    try:
        return parse_scalar(value)
    except NotALiteral:
        return str(value)


def brace_form(frame: BraceFrame) -> Form:
    """Return the form of calls in this frame."""
    ends = Markers((frame.close, frame.open))

    def read(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
        yield from take_if_next(tape, "call:")
        name = yield from take_run(tape, _NAME)
        if not name or not offer.heeds((name,)):
            return None
        yield from take_space(tape)
        if not (yield from take_if_next(tape, "{")):
            return CallMatch((Written("", name, "{}"),)) if (yield from take_if_next(tape, frame.close)) else None
        return (yield from arguments(tape, name, offer))

    def arguments(tape: Tape, name: str, offer: OfferedTools) -> Reading[CallMatch]:
        start = tape.place()
        try:
            members = yield from _BraceReader(tape, frame).members(0)
        except _TextEnded:
            return CallMatch((Written("", name, tape.held_since(start), cut=True),))
        except NotALiteral:
            _, mark = yield from take_until(tape, ends)
            raw = tape.held_since(start)
            yield from take_if_next(tape, frame.close)
            return CallMatch((Written("", name, raw, cut=not mark),))
        yield from take_closer(tape, frame.close)
        return CallMatch((Written("", name, to_json_text(_convert(members, offer.schema(name), offer.schema(name)))),))

    return Form(
        (frame.open,), read, place="anywhere", then="abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", close=frame.close
    )


def _spell_value(value: object, quote: str) -> str:
    match value:
        case str():
            return to_json_text(value) if quote in value else f"{quote}{value}{quote}"
        case list():
            return "[" + ",".join(_spell_value(item, quote) for item in cast("list[object]", value)) + "]"
        case dict():
            return (
                "{"
                + ",".join(
                    f"{_spell_key(key, quote)}:{_spell_value(item, quote)}"
                    for key, item in cast("dict[str, object]", value).items()
                )
                + "}"
            )
        case _:
            return to_json_text(value)


def _spell_key(key: str, quote: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _spell_value(key, quote)


def _make_dialect(
    name: str, frame: BraceFrame, form: Form, thoughts: tuple[ThinkingFrame, ...], noise: tuple[str, ...]
) -> TextDialect:
    def spell(calls: Sequence[Call]) -> str:
        return "".join(f"{frame.open}call:{call.name}{_spell_value(call.arguments, frame.quote)}{frame.close}" for call in calls)

    example = spell([Call("", "TOOL", {"TEXT": "VALUE", "NUMBER": 5, "LIST": ["VALUE"]})])
    lesson = f"To call a tool, write this, with {frame.quote} around texts:\n{example}\nFor several calls, write several of these."
    return TextDialect(name, (form,), lesson, spell, thoughts, noise)


_FUNCTION_GEMMA = BraceFrame("<start_function_call>", "<end_function_call>", "<escape>")
_GEMMA_4 = BraceFrame("<|tool_call>", "<tool_call|>", '<|"|>')
FUNCTION_GEMMA = brace_form(_FUNCTION_GEMMA)
GEMMA_4 = brace_form(_GEMMA_4)
FORMS = (FUNCTION_GEMMA, GEMMA_4)
_THOUGHTS = (
    ThinkingFrame("<|channel>thought", "<channel|>", place="anywhere"),
    ThinkingFrame("<|channel>", "<channel|>", ends=("<|channel>",), place="anywhere"),
)
_TURNS = ("<|tool_response>", "<tool_response|>", "<|turn>model", "<turn|>", "<tool_call|>")
_TURNS_BEFORE = ("<end_function_call>", "<start_function_response>", "<start_of_turn>model", "<end_of_turn>")
_ROWS = (
    _make_dialect("functiongemma", _FUNCTION_GEMMA, FUNCTION_GEMMA, (), _TURNS_BEFORE),
    _make_dialect("gemma4", _GEMMA_4, GEMMA_4, _THOUGHTS, _TURNS),
)
DIALECTS = {row.name: row for row in _ROWS}
