"""Schemas of tools for servers with native calls: one object with named properties, valid as JSON Schema 2020-12. Pure.

One schema that a server refuses fails every request that offers its tool. What is left out here is checked when a call is
read, against the tool's own schema. Gemini has a smaller subset (`wires.google_schema`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from treadle.core.requests import ToolSpec

Schema = dict[str, Any]

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_LISTED = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_SINGLE = frozenset(
    (
        *("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames"),
        *("not", "if", "then", "else"),
    )
)
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_REFUSED_AT_TOP = frozenset(("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"))
_OBJECT: Schema = {"type": "object"}
_EMPTY: Schema = {"type": "object", "properties": {}}


def to_tool_fields(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as most servers are told of it."""
    return {"name": tool.name, "description": tool.description, "parameters": to_tool_parameters(tool.parameters)}


def to_tool_parameters(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of a tool's arguments: an object whose alternatives, if it has any, are merged into it."""
    root = dict(schema)
    converted = _as_schema(_convert(root, root))
    converted.pop("$schema", None)
    if not _REFUSED_AT_TOP.isdisjoint(converted):
        return _Merger(converted).merge(converted)
    return {**_EMPTY, **converted, **_OBJECT}


# Validity, at any depth


def _convert(schema: Any, root: Schema) -> Any:
    """Return a schema without the forms of older drafts and without what no draft has."""
    if not isinstance(schema, dict):
        return {} if schema is not False else False
    given = cast("Schema", schema)
    converted: Schema = {}
    for name, value in given.items():
        convert = _KEYWORDS.get(name)
        if convert is None:
            converted[name] = value
        elif (valid := convert(value, root)) is not None:
            converted[name] = valid
    for name, inclusive in _BOUNDS.items():
        if isinstance(converted.get(name), bool) and converted.pop(name) and inclusive in converted:  # as draft 4 has it
            converted[name] = converted.pop(inclusive)
    if isinstance(given.get("items"), list):
        converted |= {"prefixItems": _convert_list(given["items"], root) or [{}], "items": {}}
    if "array" in _list_types(converted) and "items" not in converted:
        converted["items"] = {}
    return converted


def _convert_named(value: Any, root: Schema) -> Schema | None:
    return {name: _convert(one, root) for name, one in cast("Schema", value).items()} if isinstance(value, dict) else None


def _convert_list(value: Any, root: Schema) -> list[Any] | None:
    return [_convert(one, root) for one in cast("list[Any]", value)] or None if isinstance(value, list) else None


def _convert_single(value: Any, root: Schema) -> Any:
    return value if isinstance(value, bool) else _convert(value, root) if isinstance(value, dict) else None


def _convert_types(value: Any, _root: Schema) -> Any:
    if isinstance(value, str):
        return value if value in _TYPES else None
    named = cast("list[Any]", value) if isinstance(value, list) else []
    return list(dict.fromkeys([name for name in named if isinstance(name, str) and name in _TYPES])) or None


def _convert_required(value: Any, _root: Schema) -> list[str] | None:
    named = cast("list[Any]", value) if isinstance(value, list) else None
    return None if named is None else list(dict.fromkeys([name for name in named if isinstance(name, str)]))


def _convert_enum(value: Any, _root: Schema) -> list[Any] | None:
    return cast("list[Any]", value) if isinstance(value, list) and value else None


def _convert_reference(value: Any, root: Schema) -> str | None:
    return value if isinstance(value, str) and isinstance(_resolve(root, value), dict | bool) else None


_KEYWORDS: dict[str, Callable[[Any, Schema], Any]] = {
    **dict.fromkeys(_NAMED, _convert_named),
    **dict.fromkeys(_LISTED, _convert_list),
    **dict.fromkeys(_SINGLE, _convert_single),
    "type": _convert_types,
    "required": _convert_required,
    "enum": _convert_enum,
    "$ref": _convert_reference,
}


# One object at the top


class _Merger:
    """Merges the alternatives of a schema into one object. What a reference leads to is merged once."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._referenced: dict[str, Schema] = {}

    def merge(self, schema: Schema) -> Schema:
        """Return an object with the properties of all alternatives; those are required that all of them require."""
        merged = {**_EMPTY, **{name: value for name, value in schema.items() if name not in _REFUSED_AT_TOP}, **_OBJECT}
        properties, required = dict(merged["properties"]), list(merged.get("required", ()))
        parts = self._list_parts(schema)
        for part in parts:
            _add_properties(properties, part["properties"])
            required += part.get("required", ())
        descriptions = [merged.get("description") or next((part["description"] for part in parts if "description" in part), "")]
        for keyword in ("anyOf", "oneOf"):
            branches = self._merge_each(schema.get(keyword))
            for branch in branches:
                _add_properties(properties, branch["properties"])
            shared, hint = _compare_needs([branch.get("required", ()) for branch in branches], required)
            required += shared
            descriptions.append(hint)
        required = [name for name in dict.fromkeys(required) if name in properties]
        told = {"required": required, "description": " ".join(filter(None, descriptions))}
        return {**merged, "properties": properties, **{name: value for name, value in told.items() if value}}

    def _list_parts(self, schema: Schema) -> list[Schema]:
        """Return what applies besides the schema's own properties. Nothing of `then` and `else` is required: that depends."""
        referenced = [self._follow(schema["$ref"])] if "$ref" in schema else []
        conditional = self._merge_each([schema.get("then"), schema.get("else")])
        return [*referenced, *self._merge_each(schema.get("allOf")), *({**part, "required": []} for part in conditional)]

    def _merge_each(self, schemas: Sequence[Any] | None) -> list[Schema]:
        return [self.merge(cast("Schema", one)) for one in schemas or () if isinstance(one, dict)]

    def _follow(self, reference: str) -> Schema:
        if reference not in self._referenced:
            self._referenced[reference] = _EMPTY  # for one that leads back here
            self._referenced[reference] = self.merge(_as_schema(_resolve(self._root, reference)))
        return self._referenced[reference]


def _compare_needs(needs: Sequence[Sequence[str]], known: Sequence[str]) -> tuple[list[str], str]:
    """Return what all alternatives require, and a sentence on what each of them requires besides."""
    shared = [name for name in needs[0] if all(name in one for one in needs)] if needs else []
    others = [" with ".join([name for name in one if name not in shared and name not in known]) for one in needs]
    return shared, f"Needs {', or '.join(dict.fromkeys(others))}." if others and all(others) else ""


def _add_properties(properties: dict[str, Any], others: Mapping[str, Any]) -> None:
    """Add properties. One that is there in another form may have either."""
    for name, other in others.items():
        own = properties.setdefault(name, other)
        either = _as_schema(own)
        known: list[Any] = either["anyOf"] if either.keys() == {"anyOf"} else [own]
        if other not in known and own != {} and other != {}:
            properties[name] = {"anyOf": [*known, other]}


def _resolve(root: Schema, reference: str) -> Any:
    """Return what a reference leads to; None where that isn't in this schema."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = cast("Schema", found).get(name) if isinstance(found, dict) else None
    return found


def _as_schema(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _list_types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return cast("list[str]", types) if isinstance(types, list) else [str(types)]
