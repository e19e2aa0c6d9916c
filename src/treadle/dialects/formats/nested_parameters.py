"""Calls whose parameters are nested elements named after them, each tag with a token before it: MiniMax M3.

Lists are elements called `item`, or the same element several times. Only that token is markup, so values are raw text.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.core.calls import Call
from treadle.dialects import json_repair
from treadle.dialects.argument_values import convert_value, resolve_reference, schema_types
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import OfferedTools, ThinkingFrame, to_json_text
from treadle.dialects.parameters import (
    CallParameters,
    ParameterReader,
    ParametersEnding,
    ParameterTags,
    peek_word,
    skip_gap,
    take_tag,
)
from treadle.dialects.scanner import Markers, Reading, Tape, peek, take_until
from treadle.dialects.tagged_calls import PLAIN_NAME, TaggedCallReader, escape_tags, tag_lesson

_MARK = "]<]minimax[>["
_ITEM = "item"
_TAGS = ParameterTags(
    opens=(f"{_MARK}<invoke name=",),
    close=f"{_MARK}</invoke>",
    keys=(f"{_MARK}<",),
    end=f"{_MARK}</",
    wraps=((f"{_MARK}<tool_call>", f"{_MARK}</tool_call>"),),
    place="anywhere",
)
_MARKS = Markers((_MARK,))

_Schema = dict[str, Any]


class _Element(Struct):
    """An element. `raw` is all of its inside; of an element with children, only a parameter's is kept."""

    name: str
    start: int
    raw: str = ""
    inside: "list[_Element]" = []


class _Tag(Struct, frozen=True):
    """A tag and its position."""

    name: str
    closes: bool
    place: int


class _NestedReader:
    """Reads what follows the name of a call, where its parameters are elements."""

    def __init__(self) -> None:
        self._object = ParameterReader(_TAGS)
        self._next = (_TAGS.close, *(word for wrap in _TAGS.wraps for word in wrap), *_TAGS.opens, *_TAGS.keys)

    def read(self, tape: Tape, name: str, offer: OfferedTools) -> Reading[CallParameters]:
        """Take all parameters, and the end of the call."""
        yield from skip_gap(tape)
        if (yield from peek(tape)) == "{":
            return (yield from self._object.read(tape, name, offer))
        elements: list[_Element] = []
        ending = yield from self._collect(tape, elements)
        return CallParameters(ending, _ElementConverter(offer.schema(name), plain=offer.empty).members(elements))

    def _collect(self, tape: Tape, elements: list[_Element]) -> Reading[ParametersEnding]:
        while True:
            yield from skip_gap(tape)
            word = yield from peek_word(tape, self._next)
            if word is None:
                return "broken"
            if not word:
                tape.take(len(tape.window) - tape.at)
                return "ended"
            if word == _TAGS.close:
                tape.take(len(word))
            if word not in _TAGS.keys:
                return "whole"
            element = yield from _read_element(tape)
            if not isinstance(element, _Element):
                return element
            elements.append(element)


def _read_element(tape: Tape) -> Reading[_Element | ParametersEnding]:
    """Read the element that begins here, with all its children."""
    around: list[_Element] = []
    while True:
        tag = yield from _read_tag(tape)
        if not isinstance(tag, _Tag):
            return tag
        if not tag.closes:
            around.append(_Element(tag.name, tape.place()))
            continue
        if not around or around[-1].name != tag.name or len(around) > json_repair.MAX_DEPTH:
            return "broken"
        element = around.pop()
        if not (element.inside and around):
            element.raw = tape.held_since(element.start, tag.place)
        if not around:
            return element
        around[-1].inside.append(element)


def _read_tag(tape: Tape) -> Reading[_Tag | ParametersEnding]:
    """Read the next tag, after any text."""
    _, mark = yield from take_until(tape, _MARKS)
    place = tape.place()
    tape.take(len(mark))
    word = yield from peek_word(tape, ("<", "</"))
    if not word:
        return "broken" if word is None else "cut"
    tape.take(len(word))
    name, end = yield from take_tag(tape)
    if end == ">":
        return _Tag(name.strip(), word == "</", place)
    return "broken" if end else "cut"


class _ElementConverter:
    """Converts elements by a tool's schema. Without tools there are no types, and values stay text."""

    def __init__(self, root: _Schema, *, plain: bool) -> None:
        self._root = root
        self._plain = plain

    def members(self, elements: Iterable[_Element], schema: _Schema | None = None) -> dict[str, Any]:
        """Return the elements as the members of an object."""
        groups: dict[str, list[_Element]] = {}
        for element in elements:
            groups.setdefault(element.name, []).append(element)
        schemas = {name: self._inner_schema(self._root if schema is None else schema, "properties", name) for name in groups}
        return {name: self._convert_group(group, schemas[name]) for name, group in groups.items()}

    def _convert_group(self, group: list[_Element], schema: _Schema) -> Any:
        if len(group) == 1:
            return self._convert_element(group[0], schema)
        return [self._convert_element(element, self._inner_schema(schema, "items")) for element in group]

    def _convert_element(self, element: _Element, schema: _Schema) -> Any:
        kinds = schema_types(resolve_reference(schema, self._root), self._root)
        if not element.inside:
            return element.raw if self._plain else convert_value(element.raw, schema, self._root)
        if "string" in kinds and element.raw:
            return element.raw
        items = all(inner.name == _ITEM for inner in element.inside)
        if kinds == ["array"] or (items and kinds != ["object"]):
            return [self._convert_element(inner, self._inner_schema(schema, "items")) for inner in element.inside]
        return self.members(element.inside, schema)

    def _inner_schema(self, schema: _Schema, key: str, name: str = "") -> _Schema:
        """Return the schema of a list's items or of an object's member, from whichever alternative has one."""
        schema = resolve_reference(schema, self._root)
        alternatives = cast("list[_Schema]", schema.get("anyOf") or schema.get("oneOf") or ())
        for one in (schema, *(resolve_reference(alternative, self._root) for alternative in alternatives)):
            inner = one.get(key)
            if name:
                inner = cast("_Schema", inner or {}).get(name, one.get("additionalProperties"))
            if isinstance(inner, dict):
                return cast("_Schema", inner)
        return {}


MINIMAX_M3 = TaggedCallReader(_TAGS, _NestedReader()).forms()


def _spell_calls(calls: Sequence[Call]) -> str:
    opens, close = _TAGS.wraps[0]
    return f"{opens}\n{''.join(map(_spell_call, calls))}{close}" if calls else ""


def _spell_call(call: Call) -> str:
    spelled = to_json_text(call.arguments)
    if _MARK in spelled or not all(map(PLAIN_NAME.fullmatch, call.arguments)):
        inside = escape_tags(spelled)
    else:
        inside = "".join(f"{_MARK}<{key}>{_spell_value(value)}{_MARK}</{key}>" for key, value in call.arguments.items())
    return f'{_TAGS.opens[0]}"{call.name}">{inside}{_TAGS.close}\n'


def _spell_value(value: Any) -> str:
    """Return a value as text: a list of strings as elements, other values than strings as JSON."""
    if isinstance(value, str):
        return value
    items = cast("list[object]", value if type(value) is list else [])
    if items and all(isinstance(item, str) and item[:1] not in {"[", "{"} for item in items):
        return "".join(f"{_MARK}<{_ITEM}>{item}{_MARK}</{_ITEM}>" for item in items)
    return to_json_text(cast("object", value))


_THINK = ThinkingFrame("<mm:think>", "</mm:think>", place="anywhere")
DIALECTS = {
    "minimax_m3_xml": TextDialect("minimax_m3_xml", MINIMAX_M3, tag_lesson(_spell_calls), _spell_calls, (_THINK,), ("[e~[",))
}
