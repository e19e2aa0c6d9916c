"""Calls in braces, `call:name{key:value,…}`, where a token stands for the quote: `call:ls{path:<|"|>.<|"|>,all:true}`.

A member of the family is a row here. Between the tokens all is text as it stands. What isn't quoted is a number, true, false or
null, or else text too; the tool's schema has the last word. Plain quotes are understood, where a value begins with one.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects import mend
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import Form, Found, Offer, Thought, json_text, shut
from treadle.dialects.python_calls import Odd, scalar
from treadle.dialects.scan import Markers, Reading, Tape, ahead, peek, run, space, took, until
from treadle.dialects.typed import kinds_of, resolved, value_of

_NAME = re.compile(r"[\w.:/-]+")
_PLAIN_KEY = re.compile(r"[\w.-]+")
_QUICK_KEY = re.compile(r"([\w.-]++):(?=[^\s])")
_QUICK_WORD = re.compile(r"([\w.+-]++)(?=[,}\]])")
_QUICK_WORDS = re.compile(r"(?:[\w.+-]++,)++")
_PLAIN_QUOTES = {quote: Markers((quote, "\\")) for quote in "\"'"}


class Frame(Struct, frozen=True):
    """The tokens of a family: around a call, and on both sides of a text."""

    open: str
    close: str
    quote: str


class _Bare(str):
    """A value that nothing quotes."""

    __slots__ = ()


class _Cut(Exception):
    """The reply ends inside a value."""


class _Reader:
    """Reads what stands in braces; raises `_Cut` or `Odd`."""

    __slots__ = ("_close", "_in_bare", "_in_key", "_in_text", "_over", "_quote", "_tape")

    def __init__(self, tape: Tape, frame: Frame) -> None:
        self._tape = tape
        self._quote = frame.quote
        self._close = frame.close
        self._in_text = Markers((frame.quote,))
        self._in_key = Markers((*":,{}[]", frame.close))
        self._in_bare = Markers((*",}]", frame.close))
        self._over = False  # whether the call has ended, though its brace is missing

    def members(self, depth: int) -> Reading[dict[str, Any]]:
        """The rest of an object, after its brace."""
        members: dict[str, Any] = {}
        while not (yield from self._ends("}", depth)):
            key = yield from self._key(depth)
            members[key] = yield from self._value(depth)
            yield from self._go_on("}", depth, members[key])
        return members

    def _items(self, depth: int) -> Reading[list[Any]]:
        items: list[Any] = []
        while not (yield from self._ends("]", depth)):
            quick = _QUICK_WORDS.match(self._tape.window, self._tape.at)
            if quick is not None:
                items += map(_Bare, self._tape.take(quick.end() - self._tape.at)[:-1].split(","))
                continue
            items.append((yield from self._value(depth)))
            yield from self._go_on("]", depth, items[-1])
        return items

    def _ends(self, closer: str, depth: int) -> Reading[bool]:
        """Whether a bracket is closed here. The call's own may be missing, if the frame around it is closed."""
        if self._over:
            return True
        yield from space(self._tape)
        if (yield from took(self._tape, closer)):
            return True
        if not (yield from peek(self._tape)):
            raise _Cut
        return depth == 0 and (yield from ahead(self._tape, self._close))

    def _go_on(self, closer: str, depth: int, value: object) -> Reading[None]:
        """Takes the comma after a value. Before anything but the end it may be missing only where a text came to its own end."""
        if self._over:
            return
        yield from space(self._tape)
        if (yield from took(self._tape, ",")):
            return
        following = yield from peek(self._tape)
        if not following:
            self._over = depth == 0 and type(value) is not _Bare
        elif following != closer and type(value) is not str and (depth or following != self._close[0]):
            raise Odd

    def _key(self, depth: int) -> Reading[str]:
        quick = _QUICK_KEY.match(self._tape.window, self._tape.at)
        if quick is not None:
            self._tape.take(quick.end() - self._tape.at)
            return quick[1]
        quoted = yield from self._quoted(depth)
        text, mark = yield from until(self._tape, self._in_key)
        if mark != ":":
            raise Odd if mark else _Cut
        self._tape.take(1)
        yield from space(self._tape)
        return text.strip() if quoted is None else quoted

    def _value(self, depth: int) -> Reading[Any]:
        tape = self._tape
        quick = _QUICK_WORD.match(tape.window, tape.at)
        if quick is not None:
            return _Bare(tape.take(quick.end() - tape.at))
        quoted = yield from self._quoted(depth)
        if quoted is not None:
            return quoted
        opener = yield from peek(tape)
        if opener not in {"{", "["}:
            return (yield from self._bare(""))
        if depth == mend.DEEPEST:
            raise Odd
        tape.take(1)
        return (yield from (self.members if opener == "{" else self._items)(depth + 1))

    def _quoted(self, depth: int) -> Reading[str | None]:
        """A text in quotes of one kind or another, if there is one here."""
        if (yield from took(self._tape, self._quote)):
            return (yield from self._text(depth))
        first = yield from peek(self._tape)
        return (yield from self._string(self._tape.take(1))) if first in _PLAIN_QUOTES else None

    def _text(self, depth: int) -> Reading[str]:
        """A text up to its closing token. One without it ends where the call does, if that comes to an end."""
        text, mark = yield from until(self._tape, self._in_text)
        if mark:
            self._tape.take(len(mark))
            return text
        kept = text.rstrip().removesuffix("}" + self._close)
        if depth or len(kept) == len(text.rstrip()):
            raise _Cut
        self._over = True
        return kept

    def _string(self, quote: str) -> Reading[str]:
        """A text in plain quotes. What goes on after the second of them wasn't quoted, but begins with a quotation."""
        parts: list[str] = []
        while True:
            text, mark = yield from until(self._tape, _PLAIN_QUOTES[quote])
            parts.append(text)
            if not mark:
                raise _Cut
            if self._tape.take(1) == quote:
                break
            parts.append("\\" + (self._tape.take(1) if (yield from peek(self._tape)) else ""))
        raw = "".join(parts)
        gap = yield from space(self._tape)
        yield from took(self._tape, self._quote)  # some models close a text with both
        if (yield from peek(self._tape)) in {"", ",", "}", "]", ":"} or (yield from ahead(self._tape, self._close)):
            return _unescaped(raw) if quote == '"' else raw
        return (yield from self._bare(quote + raw + quote + gap))

    def _bare(self, begun: str) -> Reading[_Bare]:
        text, mark = yield from until(self._tape, self._in_bare)
        if not mark:
            raise _Cut
        return _Bare((begun + text).strip())


def _unescaped(raw: str) -> str:
    outcome = mend.read_json(f'"{raw}"')
    return outcome.value if isinstance(outcome, mend.Read) else raw


def _typed(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """The value that a tool with this schema wants."""
    schema = resolved(schema, root)
    if isinstance(value, dict):
        properties = cast("dict[str, Any]", schema.get("properties") or {})
        return {key: _typed(item, properties.get(key) or {}, root) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [
            _typed(item, cast("dict[str, Any]", items) if isinstance(items, dict) else {}, root)
            for item in cast("list[Any]", value)
        ]
    kinds = kinds_of(schema, root)
    if kinds and (type(value) is _Bare or "string" not in kinds):
        return value_of(str(value), schema, root)
    return _untyped(value) if type(value) is _Bare else value


def _untyped(value: str) -> Any:
    try:
        return scalar(value)
    except Odd:
        return str(value)


def form_of(frame: Frame) -> Form:
    """The form of call in this frame."""
    ends = Markers((frame.close, frame.open))

    def read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
        yield from took(tape, "call:")
        name = yield from run(tape, _NAME)
        if not name or not offer.heeds((name,)):
            return None
        yield from space(tape)
        if not (yield from took(tape, "{")):
            return Found((Written("", name, "{}"),)) if (yield from took(tape, frame.close)) else None
        return (yield from arguments(tape, name, offer))

    def arguments(tape: Tape, name: str, offer: Offer) -> Reading[Found]:
        start = tape.place()
        try:
            members = yield from _Reader(tape, frame).members(0)
        except _Cut:
            return Found((Written("", name, tape.since(start), cut=True),))
        except Odd:
            _, mark = yield from until(tape, ends)
            raw = tape.since(start)
            yield from took(tape, frame.close)
            return Found((Written("", name, raw, cut=not mark),))
        yield from shut(tape, frame.close)
        return Found((Written("", name, json_text(_typed(members, offer.schema(name), offer.schema(name)))),))

    return Form(
        (frame.open,), read, place="anywhere", then="abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", close=frame.close
    )


def _spelled(value: object, quote: str) -> str:
    match value:
        case str():
            return json_text(value) if quote in value else f"{quote}{value}{quote}"
        case list():
            return "[" + ",".join(_spelled(item, quote) for item in cast("list[object]", value)) + "]"
        case dict():
            return (
                "{"
                + ",".join(f"{_key(key, quote)}:{_spelled(item, quote)}" for key, item in cast("dict[str, object]", value).items())
                + "}"
            )
        case _:
            return json_text(value)


def _key(key: str, quote: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _spelled(key, quote)


def _dialect(name: str, frame: Frame, form: Form, thoughts: tuple[Thought, ...], noise: tuple[str, ...]) -> TextDialect:
    def spell(calls: Sequence[Call]) -> str:
        return "".join(f"{frame.open}call:{call.name}{_spelled(call.arguments, frame.quote)}{frame.close}" for call in calls)

    example = spell([Call("", "TOOL", {"TEXT": "VALUE", "NUMBER": 5, "LIST": ["VALUE"]})])
    lesson = f"To call a tool, write this, with {frame.quote} around texts:\n{example}\nFor several calls, write several of these."
    return TextDialect(name, (form,), lesson, spell, thoughts, noise)


_FUNCTION_GEMMA = Frame("<start_function_call>", "<end_function_call>", "<escape>")
_GEMMA_4 = Frame("<|tool_call>", "<tool_call|>", '<|"|>')
FUNCTION_GEMMA = form_of(_FUNCTION_GEMMA)
GEMMA_4 = form_of(_GEMMA_4)
FORMS = (FUNCTION_GEMMA, GEMMA_4)
_THOUGHTS = (
    Thought("<|channel>thought", "<channel|>", place="anywhere"),
    Thought("<|channel>", "<channel|>", ends=("<|channel>",), place="anywhere"),
)
_TURNS = ("<|tool_response>", "<tool_response|>", "<|turn>model", "<turn|>", "<tool_call|>")
_TURNS_BEFORE = ("<end_function_call>", "<start_function_response>", "<start_of_turn>model", "<end_of_turn>")
_ROWS = (
    _dialect("functiongemma", _FUNCTION_GEMMA, FUNCTION_GEMMA, (), _TURNS_BEFORE),
    _dialect("gemma4", _GEMMA_4, GEMMA_4, _THOUGHTS, _TURNS),
)
DIALECTS = {row.name: row for row in _ROWS}
