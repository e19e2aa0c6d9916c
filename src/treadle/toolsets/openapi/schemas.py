"""OpenAPI schemas as JSON Schema, and as a model sees them: short, with references inlined.

Read-only properties are left out of requests, and old keywords become new ones. `$defs` remain only where a schema contains
itself. If one would be too long to be read each time, descriptions get shorter, then inner objects become plain ones; a call is
then validated against the full schema (`bundle_schema`).
"""

import re
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from treadle.toolsets.openapi.document import (
    JsonObject,
    OpenApiDocument,
    list_or_empty,
    object_or_empty,
    strip_markup,
    text_or_empty,
    truncate_plain_text,
)

LEFT_OUT = "x-left-out"  # properties that were left out, for merging with a schema that requires them
_TYPES = frozenset(("string", "integer", "number", "boolean", "null", "array", "object"))
_NUMBERS = ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_UNCHANGED = ("enum", "const", "default", "pattern", "format", "uniqueItems", "contentEncoding", "contentMediaType")
_ONE = ("items", "additionalProperties", "not", "additionalItems", "if", "then", "else", "contains", "propertyNames")
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")
MAX_SCHEMA = 12_000  # characters of a tool's schema
_ANY_DEPTH = 1000
_TRIES = ((_ANY_DEPTH, 300), (_ANY_DEPTH, 100), (6, 100), (5, 80), (4, 80), (3, 60), (2, 60), (1, 40))
_SIMPLE = frozenset(("type", "properties", "required", "description", LEFT_OUT))
_PREFIX = "#/$defs/"


class SchemaConverter:
    """The schemas of one document, converted on first use."""

    def __init__(self, document: OpenApiDocument) -> None:
        self._document = document
        self._names: dict[str, str] = {}  # by reference
        self.defs: dict[str, Any] = {}

    def convert(self, schema: Any) -> Any:
        """Return a schema as JSON Schema; `{"$ref": "#/$defs/name"}` where it refers to another one."""
        if isinstance(schema, bool):
            return schema
        found = object_or_empty(schema)
        if "$ref" in found:
            return self._convert_reference(found)
        out = self._keywords(found)
        self._put_types(found, out)
        self._put_bounds(found, out)
        self._put_choice(found, out)
        return out

    def _keywords(self, schema: JsonObject) -> JsonObject:
        out: JsonObject = {}
        if text_or_empty(schema.get("description")):
            out["description"] = schema["description"]
        for keyword in _UNCHANGED:
            if keyword in schema:
                out[keyword] = schema[keyword]
        for keyword in _ONE:
            if isinstance(schema.get(keyword), dict | bool):
                out[keyword] = self.convert(schema[keyword])
        for keyword in _SEVERAL:
            if list_or_empty(schema.get(keyword)):
                out[keyword] = [self.convert(branch) for branch in list_or_empty(schema[keyword])]
        self._put_fields(schema, out)
        return out

    def _put_fields(self, schema: JsonObject, out: JsonObject) -> None:
        """Add the properties that a request may have."""
        properties = object_or_empty(schema.get("properties"))
        left_out = [name for name, part in properties.items() if self._is_read_only(part)]
        if properties:
            out["properties"] = {name: self.convert(part) for name, part in properties.items() if name not in left_out}
        if left_out:
            out[LEFT_OUT] = left_out
        required = [name for name in list_or_empty(schema.get("required")) if isinstance(name, str) and name not in left_out]
        if required:
            out["required"] = required
        patterns = object_or_empty(schema.get("patternProperties"))
        if patterns:
            out["patternProperties"] = {pattern: self.convert(part) for pattern, part in patterns.items()}

    def _is_read_only(self, schema: Any) -> bool:
        """Return whether only a server may set it."""
        found = self._document.dereference(schema)
        parts = [found, *[self._document.dereference(branch) for branch in list_or_empty(found.get("allOf"))]]
        return any(part.get("readOnly") is True for part in parts)

    def _put_types(self, schema: JsonObject, out: JsonObject) -> None:
        named = schema.get("type")
        types = [name for name in (list_or_empty(named) or [named]) if isinstance(name, str) and name in _TYPES]
        if self._document.old and types and schema.get("nullable") is True:
            types.append("null")
        if types:
            out["type"] = types[0] if len(types) == 1 else types
        elif "properties" in out and not any(keyword in out for keyword in _SEVERAL):
            out["type"] = "object"

    def _put_bounds(self, schema: JsonObject, out: JsonObject) -> None:
        for keyword in _NUMBERS:
            if _is_number(schema.get(keyword)):
                out[keyword] = schema[keyword]
        for bound in ("minimum", "maximum"):
            exclusive = f"exclusive{bound.title()}"
            if schema.get(exclusive) is True and bound in out:  # as 3.0 says it
                out[exclusive] = out.pop(bound)
            elif _is_number(schema.get(exclusive)):
                out[exclusive] = schema[exclusive]

    def _put_choice(self, schema: JsonObject, out: JsonObject) -> None:
        """Convert a discriminator: each branch then requires its own value."""
        told = object_or_empty(schema.get("discriminator"))
        name = text_or_empty(told.get("propertyName"))
        keyword = "oneOf" if "oneOf" in out else "anyOf"
        if not name or keyword not in out:
            return
        mapping = {key: text_or_empty(to) for key, to in object_or_empty(told.get("mapping")).items()}
        branches = zip(list_or_empty(schema[keyword]), out[keyword], strict=True)
        out[keyword] = [self._require_value(name, mapping, object_or_empty(branch), made) for branch, made in branches]

    def _require_value(self, name: str, mapping: dict[str, str], branch: JsonObject, made: Any) -> Any:
        own = text_or_empty(branch.get("$ref"))
        if not own:
            return made
        short = own.rpartition("/")[2]
        values = [key for key, to in mapping.items() if to in (own, short)] or [short]
        asked = {"type": "object", "properties": {name: {"type": "string", "enum": values}}, "required": [name]}
        return {"allOf": [made, asked]}

    def _convert_reference(self, schema: JsonObject) -> JsonObject:
        reference = text_or_empty(schema["$ref"])
        if reference not in self._names:
            self._names[reference] = name = self._name_reference(reference)
            self.defs[name] = True  # until it is converted: it may contain itself
            found = self._document.find(reference)
            self.defs[name] = True if found is None else self.convert(found)
        out: JsonObject = {"$ref": f"#/$defs/{self._names[reference]}"}
        if self._document.old:  # where only words may stand beside a reference, and those by custom
            return {**out, "description": schema["description"]} if text_or_empty(schema.get("description")) else out
        return {**self.convert({key: value for key, value in schema.items() if key != "$ref"}), **out}

    def _name_reference(self, reference: str) -> str:
        name = base = _INVALID_CHARACTERS.sub("_", reference.rpartition("/")[2]).strip("_") or "schema"
        number = 1
        while name in self.defs:
            number += 1
            name = f"{base}_{number}"
        return name


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class ShapedSchema(Struct, frozen=True):
    """A shortened schema. `loose` means that it accepts more than the document does."""

    schema: JsonObject
    loose: bool


class _TooLong(Exception):
    """The schema exceeds the limit."""


def shape_schema(schema: JsonObject, defs: dict[str, Any], most: int = MAX_SCHEMA) -> ShapedSchema:
    """Return the schema with references inlined, at most `most` characters long, if that is possible at all."""
    for depth, words in _TRIES:
        shaper = _Shaper(defs, words, most)
        with suppress(_TooLong):
            return ShapedSchema(shaper.all(schema, depth), shaper.loose)
    bare = _Shaper(defs, 0, None)
    return ShapedSchema(bare.all(schema, 0), bare.loose)


def bundle_schema(schema: JsonObject, defs: dict[str, Any]) -> JsonObject:
    """Return the schema with everything it refers to, of any length."""
    needed: dict[str, Any] = {}
    ahead: list[Any] = [schema]
    while ahead:
        part = ahead.pop()
        name = text_or_empty(object_or_empty(part).get("$ref")).removeprefix(_PREFIX)
        if name and name not in needed:
            needed[name] = defs[name]
            ahead.append(defs[name])
        ahead += list_or_empty(part) or object_or_empty(part).values()
    return {**schema, "$defs": needed} if needed else schema


def resolve_outer(schema: Any, defs: dict[str, Any], seen: frozenset[str] = frozenset()) -> tuple[Any, frozenset[str]]:
    """Return the outermost level of a schema, with references resolved and `allOf` merged; and the names it went through."""
    found = object_or_empty(schema)
    if "$ref" in found:
        name = found["$ref"].removeprefix(_PREFIX)
        if name in seen:
            return {}, seen
        beside = {key: value for key, value in found.items() if key != "$ref"}
        inner, seen = resolve_outer(defs[name], defs, seen | {name})
        return _merge_siblings(inner, beside), seen
    branches = list_or_empty(found.get("allOf"))
    if not branches:
        return schema, seen
    parts = [{key: value for key, value in found.items() if key != "allOf"}]
    names = seen
    for branch in branches:
        part, through = resolve_outer(branch, defs, seen)
        parts.append(part)
        names |= through
    merged = _merge_all_of(parts)
    return (schema, seen) if merged is None else (merged, names)


def _merge_siblings(inner: Any, beside: JsonObject) -> Any:
    """Merge a schema with the siblings of the reference to it."""
    if not beside:
        return inner
    if set(beside) <= {"description"}:
        return {**object_or_empty(inner), **beside}
    merged = _merge_all_of([beside, inner])
    return {"allOf": [inner], **beside} if merged is None else merged


def _merge_all_of(parts: list[Any]) -> Any:
    """Merge several schemas that must all match; None where that takes an `allOf`."""
    parts = [part for part in parts if part != {} and part is not True]
    if len(parts) <= 1:
        return parts[0] if parts else {}
    objects = [object_or_empty(part) for part in parts]
    if len(parts) == 2 and set(objects[0]) == {"description"} and objects[1]:
        return {**objects[1], **objects[0]}
    if not all(part and set(part) <= _SIMPLE and part.get("type", "object") == "object" for part in objects):
        return None
    properties: JsonObject = {}
    for part in objects:
        for name, inner in object_or_empty(part.get("properties")).items():
            clash = name in properties and properties[name] != inner
            properties[name] = {"allOf": [properties[name], inner]} if clash else inner
    left_out = [name for part in objects for name in list_or_empty(part.get(LEFT_OUT)) if name not in properties]
    required = [name for part in objects for name in list_or_empty(part.get("required")) if name not in left_out]
    words = next((part["description"] for part in objects if "description" in part), "")
    out: JsonObject = {"description": words, "type": "object", "properties": properties}
    out |= {"required": list(dict.fromkeys(required)), LEFT_OUT: left_out}
    return {key: value for key, value in out.items() if value or key in ("type", "properties")}


class _Shaper:
    """One attempt, with descriptions of at most `words` characters."""

    def __init__(self, defs: dict[str, Any], words: int, most: int | None) -> None:
        self._defs = defs
        self._words = words
        self._left = most
        self._recursive: list[str] = []
        self.loose = False

    def all(self, schema: JsonObject, depth: int) -> JsonObject:
        out = self.part(schema, depth + 1, frozenset())
        named: dict[str, Any] = {}
        while ahead := [name for name in self._recursive if name not in named]:
            for name in ahead:
                named[name] = self.part(self._defs[name], depth, frozenset((name,)), inside=True)
        return {**out, "$defs": named} if named else out

    def part(self, schema: Any, depth: int, stack: frozenset[str], *, inside: bool = False) -> Any:
        reference = text_or_empty(object_or_empty(schema).get("$ref")).removeprefix(_PREFIX)
        if reference in stack and not inside and depth > _ANY_DEPTH // 2:
            self._recursive.append(reference)
            return self._spend({"$ref": _PREFIX + reference})
        found, names = resolve_outer(schema, self._defs)
        if isinstance(found, bool):
            return self._spend(found)
        if names & stack and not reference and depth > _ANY_DEPTH // 2:
            raise _TooLong  # it contains itself, and in no way that has a name
        if depth <= 0 and _has_subschemas(found):
            self.loose = True
            return self._spend(self._summarize(found))
        return self._shape_keywords(found, depth, stack | names)

    def _shape_keywords(self, schema: JsonObject, depth: int, stack: frozenset[str]) -> JsonObject:
        out: JsonObject = {}
        for keyword, value in schema.items():
            match keyword:
                case "description":
                    words = truncate_plain_text(strip_markup(value), self._words)
                    if words:
                        out[keyword] = self._spend(words)
                case "properties" | "patternProperties":
                    out[keyword] = {self._spend(name): self.part(part, depth - 1, stack) for name, part in value.items()}
                case _ if keyword in _ONE:
                    out[keyword] = self.part(value, depth - 1, stack)
                case _ if keyword in _SEVERAL:
                    out[keyword] = [self.part(branch, depth - 1, stack) for branch in value]
                case _ if keyword != LEFT_OUT:
                    out[keyword] = self._spend(value)
                case _:
                    pass
        return out

    def _summarize(self, schema: JsonObject) -> JsonObject:
        """Return a summary of a part that is too deep."""
        words = truncate_plain_text(strip_markup(text_or_empty(schema.get("description"))), self._words)
        out = {keyword: schema[keyword] for keyword in ("type", "required") if keyword in schema}
        return {**out, "description": words} if words else out

    def _spend(self, value: Any) -> Any:
        if self._left is not None:
            self._left -= len(msgspec.json.encode(value)) + 4
            if self._left < 0:
                raise _TooLong
        return value


def _has_subschemas(schema: JsonObject) -> bool:
    return any(isinstance(schema.get(keyword), dict | list) for keyword in ("properties", "patternProperties", *_ONE, *_SEVERAL))
