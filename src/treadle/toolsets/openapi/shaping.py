"""A schema as a model is told it: short, and written out in place, with `$defs` only where a schema contains itself.

Where it would be too long to be read each time, descriptions get shorter, then inner objects become plain ones. A call is
then checked against the whole (`whole`).
"""

from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from treadle.toolsets.openapi.document import Object, as_list, as_object, as_text
from treadle.toolsets.openapi.schemas import LEFT_OUT
from treadle.toolsets.openapi.wording import plain, shortened

LARGEST = 12_000  # characters of a tool's schema
_ANY_DEPTH = 1000
_TRIES = ((_ANY_DEPTH, 300), (_ANY_DEPTH, 100), (6, 100), (5, 80), (4, 80), (3, 60), (2, 60), (1, 40))
_SIMPLE = frozenset(("type", "properties", "required", "description", LEFT_OUT))
_ONE = frozenset(("items", "additionalProperties", "not", "additionalItems", "if", "then", "else", "contains", "propertyNames"))
_SEVERAL = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_PREFIX = "#/$defs/"


class Shaped(Struct, frozen=True):
    """A schema that was made short enough. `loose` says that it lets more pass than the document does."""

    schema: Object
    loose: bool


class _TooLong(Exception):
    """More than fits."""


def shaped(schema: Object, defs: dict[str, Any], most: int = LARGEST) -> Shaped:
    """The schema with the references written out, at most `most` characters long, if that can be had at all."""
    for depth, words in _TRIES:
        shaper = _Shaper(defs, words, most)
        with suppress(_TooLong):
            return Shaped(shaper.all(schema, depth), shaper.loose)
    bare = _Shaper(defs, 0, None)
    return Shaped(bare.all(schema, 0), bare.loose)


def whole(schema: Object, defs: dict[str, Any]) -> Object:
    """The schema with all that it refers to, however long that is."""
    needed: dict[str, Any] = {}
    ahead: list[Any] = [schema]
    while ahead:
        part = ahead.pop()
        name = as_text(as_object(part).get("$ref")).removeprefix(_PREFIX)
        if name and name not in needed:
            needed[name] = defs[name]
            ahead.append(defs[name])
        ahead += as_list(part) or as_object(part).values()
    return {**schema, "$defs": needed} if needed else schema


def opened(schema: Any, defs: dict[str, Any], seen: frozenset[str] = frozenset()) -> tuple[Any, frozenset[str]]:
    """The outermost of a schema, behind references and with the parts of an `allOf` put together; and the names it went through."""
    found = as_object(schema)
    if "$ref" in found:
        name = found["$ref"].removeprefix(_PREFIX)
        if name in seen:
            return {}, seen
        beside = {key: value for key, value in found.items() if key != "$ref"}
        inner, seen = opened(defs[name], defs, seen | {name})
        return _beside(inner, beside), seen
    branches = as_list(found.get("allOf"))
    if not branches:
        return schema, seen
    parts = [{key: value for key, value in found.items() if key != "allOf"}]
    names = seen
    for branch in branches:
        part, through = opened(branch, defs, seen)
        parts.append(part)
        names |= through
    merged = _merged(parts)
    return (schema, seen) if merged is None else (merged, names)


def _beside(inner: Any, beside: Object) -> Any:
    """A schema with what stands beside the reference to it."""
    if not beside:
        return inner
    if set(beside) <= {"description"}:
        return {**as_object(inner), **beside}
    merged = _merged([beside, inner])
    return {"allOf": [inner], **beside} if merged is None else merged


def _merged(parts: list[Any]) -> Any:
    """Several schemas that all have to fit, as one; None where that takes an `allOf`."""
    parts = [part for part in parts if part != {} and part is not True]
    if len(parts) <= 1:
        return parts[0] if parts else {}
    objects = [as_object(part) for part in parts]
    if len(parts) == 2 and set(objects[0]) == {"description"} and objects[1]:
        return {**objects[1], **objects[0]}
    if not all(part and set(part) <= _SIMPLE and part.get("type", "object") == "object" for part in objects):
        return None
    properties: Object = {}
    for part in objects:
        for name, inner in as_object(part.get("properties")).items():
            clash = name in properties and properties[name] != inner
            properties[name] = {"allOf": [properties[name], inner]} if clash else inner
    left_out = [name for part in objects for name in as_list(part.get(LEFT_OUT)) if name not in properties]
    required = [name for part in objects for name in as_list(part.get("required")) if name not in left_out]
    words = next((part["description"] for part in objects if "description" in part), "")
    out: Object = {"description": words, "type": "object", "properties": properties}
    out |= {"required": list(dict.fromkeys(required)), LEFT_OUT: left_out}
    return {key: value for key, value in out.items() if value or key in ("type", "properties")}


class _Shaper:
    """One try, with descriptions of at most `words` characters."""

    def __init__(self, defs: dict[str, Any], words: int, most: int | None) -> None:
        self._defs = defs
        self._words = words
        self._left = most
        self._recursive: list[str] = []
        self.loose = False

    def all(self, schema: Object, depth: int) -> Object:
        out = self.part(schema, depth + 1, frozenset())
        named: dict[str, Any] = {}
        while ahead := [name for name in self._recursive if name not in named]:
            for name in ahead:
                named[name] = self.part(self._defs[name], depth, frozenset((name,)), inside=True)
        return {**out, "$defs": named} if named else out

    def part(self, schema: Any, depth: int, stack: frozenset[str], *, inside: bool = False) -> Any:
        reference = as_text(as_object(schema).get("$ref")).removeprefix(_PREFIX)
        if reference in stack and not inside and depth > _ANY_DEPTH // 2:
            self._recursive.append(reference)
            return self._spent({"$ref": _PREFIX + reference})
        found, names = opened(schema, self._defs)
        if isinstance(found, bool):
            return self._spent(found)
        if names & stack and not reference and depth > _ANY_DEPTH // 2:
            raise _TooLong  # it contains itself, and in no way that has a name
        if depth <= 0 and _goes_on(found):
            self.loose = True
            return self._spent(self._outside(found))
        return self._keywords(found, depth, stack | names)

    def _keywords(self, schema: Object, depth: int, stack: frozenset[str]) -> Object:
        out: Object = {}
        for keyword, value in schema.items():
            match keyword:
                case "description":
                    words = shortened(plain(value), self._words)
                    if words:
                        out[keyword] = self._spent(words)
                case "properties" | "patternProperties":
                    out[keyword] = {self._spent(name): self.part(part, depth - 1, stack) for name, part in value.items()}
                case _ if keyword in _ONE:
                    out[keyword] = self.part(value, depth - 1, stack)
                case _ if keyword in _SEVERAL:
                    out[keyword] = [self.part(branch, depth - 1, stack) for branch in value]
                case _ if keyword != LEFT_OUT:
                    out[keyword] = self._spent(value)
                case _:
                    pass
        return out

    def _outside(self, schema: Object) -> Object:
        """What is told of a part that would lead too far."""
        words = shortened(plain(as_text(schema.get("description"))), self._words)
        out = {keyword: schema[keyword] for keyword in ("type", "required") if keyword in schema}
        return {**out, "description": words} if words else out

    def _spent(self, value: Any) -> Any:
        if self._left is not None:
            self._left -= len(msgspec.json.encode(value)) + 4
            if self._left < 0:
                raise _TooLong
        return value


def _goes_on(schema: Object) -> bool:
    return any(isinstance(schema.get(keyword), dict | list) for keyword in ("properties", "patternProperties", *_ONE, *_SEVERAL))
