"""Converts JSON Schema for Gemini: the subset of OpenAPI 3.0 that `parameters` and `responseSchema` accept. Pure.

What can't be expressed there is left out or moved to a description, and recursive values are described a few levels deep:
arguments are validated against the tool's own schema anyway.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from treadle.models.encoding import encode

Schema = dict[str, Any]

MAX_RECURSION = 2  # how often one definition may be inlined inside of itself
MAX_NODES = 500  # schemas after which references are inlined one level deep: definitions that name each other multiply

_TYPES = {name: name.upper() for name in ("string", "number", "integer", "boolean", "array", "object")}
_FORMATS = {"STRING": ("date-time",), "INTEGER": ("int32", "int64"), "NUMBER": ("float", "double")}
_LIMITS = {  # keyword: the types that may have it
    "minLength": ("STRING",),
    "maxLength": ("STRING",),
    "minItems": ("ARRAY",),
    "maxItems": ("ARRAY",),
    "minimum": ("INTEGER", "NUMBER"),
    "maximum": ("INTEGER", "NUMBER"),
}
_IMPLIES = {  # keyword: the type of a schema that has it and names none
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "patternProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "pattern": "string",
    "minLength": "string",
    "maxLength": "string",
    "minimum": "number",
    "maximum": "number",
}
_ANYTHING: tuple[Schema, ...] = ({"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"})
_UNSUPPORTED_PATTERN = re.compile(r"\(\?|\\[1-9]")  # lookaround, named groups and back references


def to_gemini_schema(schema: Mapping[str, Any], *, ordered: bool = False) -> Schema:
    """Return a schema for Gemini. `ordered` keeps the order of the properties in what the model writes."""
    return _GeminiConverter(schema, ordered=ordered).convert(schema)


def to_gemini_parameters(schema: Mapping[str, Any]) -> Schema | None:
    """Return the parameters of a function: always an object. None for a function without any, which must not be declared."""
    converted = _merge_to_object(to_gemini_schema(schema))
    return converted if converted.get("properties") else None


class _GeminiConverter:
    """Converts one schema with its definitions."""

    def __init__(self, root: Mapping[str, Any], *, ordered: bool) -> None:
        self._root = root
        self._ordered = ordered
        self._open: Counter[str] = Counter()  # references that are being inlined
        self._nodes = 0

    def convert(self, schema: object) -> Schema:
        """Convert any schema, including `True` and `False`."""
        self._nodes += 1
        if not isinstance(schema, Mapping):
            return _any_value("")
        used: list[str] = []
        expanded = self._expand(cast("Mapping[str, Any]", schema), used)
        branches = _as_schemas(expanded.get("anyOf")) + _as_schemas(expanded.get("oneOf"))
        types = _find_types(expanded)
        if "object" in types:
            self._merge_alternatives(expanded, branches, used)
        self._open.update(used)
        try:
            return self._convert_plain(expanded, branches, types)
        finally:
            self._open.subtract(used)

    def _expand(self, schema: Mapping[str, Any], used: list[str]) -> Schema:
        """Return a schema with its reference and its `allOf` inlined. Adds the references it follows to `used`."""
        merged = dict(schema)
        reference = merged.pop("$ref", None)
        if isinstance(reference, str):
            target = _resolve(self._root, reference)
            if self._is_too_deep(reference, used):
                return _placeholder(reference, {**target, **merged})
            used.append(reference)
            return self._expand({**target, **merged}, used)
        for part in _as_schemas(merged.pop("allOf", None)):
            _add_schema(merged, self._expand(part, used))
        return merged

    def _is_too_deep(self, reference: str, used: list[str]) -> bool:
        """Return whether a reference is recursive, or the schema is too large to follow any but the outermost references."""
        inside = self._open.total() > 0
        return self._open[reference] + used.count(reference) >= MAX_RECURSION or (inside and self._nodes > MAX_NODES)

    def _merge_alternatives(self, schema: Schema, branches: list[Schema], used: list[str]) -> None:
        """Give an object the properties of all its alternatives: `anyOf` must not stand beside anything else."""
        properties = _as_mapping(schema.get("properties"))
        for branch in branches:
            properties = _merge_mappings(properties, self._expand(branch, used).get("properties"))
        schema["properties"] = properties

    def _convert_plain(self, schema: Schema, branches: list[Schema], types: set[str]) -> Schema:
        """Convert a schema without references and `allOf`."""
        if branches and not types:
            return self._convert_union(branches, schema)
        if len(types - {"null"}) > 1:
            own = {key: value for key, value in schema.items() if key != "description"}
            return self._convert_union([{**own, "type": name} for name in _sort_types(schema["type"])], schema)
        converted = self._convert_typed(schema, types)
        return {**converted, "nullable": True} if "null" in types else converted

    def _convert_union(self, branches: list[Schema], schema: Schema) -> Schema:
        """Convert alternatives. Nothing but `anyOf` may stand there, so common keywords go into the branches."""
        converted: list[Schema] = []
        nullable = False
        for branch in branches:
            if branch.get("type") == "null" or ("const" in branch and branch["const"] is None):
                nullable = True
                continue
            single = self.convert(branch)
            converted += [one for one in single.get("anyOf", [single]) if one not in converted]
        description = str(schema.get("description") or "")
        if not converted:
            return {**_add_description({"type": "STRING"}, description), "nullable": True}
        converted = _merge_enums(converted)
        converted[0] = _add_description(converted[0], description, first=True)
        if nullable:
            converted = [{**one, "nullable": True} for one in converted]
        return converted[0] if len(converted) == 1 else {"anyOf": converted}

    def _convert_typed(self, schema: Schema, types: set[str]) -> Schema:
        """Convert a schema of one type, or of none at all."""
        description = str(schema.get("description") or "")
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list) and values:
            return self._convert_enum(cast("list[Any]", values), schema)
        kind = _TYPES.get(next(iter(types - {"null"}), ""))
        if kind is None:
            return _add_description({"type": "STRING"}, description) if types else _any_value(description)
        converted: Schema = {"type": kind}
        if kind == "OBJECT":
            converted.update(self._object_fields(schema))
        elif kind == "ARRAY":
            converted.update(self._array_fields(schema))
        converted.update(_limit_fields(schema, kind))
        form = schema.get("format")
        if not isinstance(form, str):
            return _add_description(converted, description)
        if form in _FORMATS.get(kind, ()):
            return _add_description({**converted, "format": form}, description)
        return _add_description(converted, description, f"Format: {form}.")

    def _convert_enum(self, values: list[Any], schema: Schema) -> Schema:
        """Convert fixed values. Only non-empty strings may be listed; other values are named in the description."""
        by_type = _group_by_type(values)
        nullable = by_type.pop("null", None) is not None
        if len(by_type) != 1:
            branches: list[Schema] = [{"type": kind, "enum": some} for kind, some in by_type.items()]
            return self._convert_union([*branches, *([{"type": "null"}] if nullable else [])], schema)
        ((kind, some),) = by_type.items()
        description = str(schema.get("description") or "")
        if kind == "string" and "" not in some:  # an empty one is refused
            converted = _add_description({"type": "STRING", "enum": list(dict.fromkeys(some))}, description)
        else:
            hint = f"One of: {', '.join(encode(value).decode() for value in some)}."
            full: Schema = self._convert_typed({"type": kind}, {kind}) if kind in ("array", "object") else {"type": _TYPES[kind]}
            converted = _add_description(full, description, hint)
        return {**converted, "nullable": True} if nullable else converted

    def _object_fields(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        properties = {name: self.convert(value) for name, value in _as_mapping(schema.get("properties")).items()}
        if not properties:
            return
        yield "properties", properties
        required = [name for name in dict.fromkeys(_as_names(schema.get("required"))) if name in properties]
        if required:
            yield "required", required
        if self._ordered:
            yield "propertyOrdering", list(properties)

    def _array_fields(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        items = schema.get("items")
        places = _as_schemas(schema.get("prefixItems")) or _as_schemas(items)
        yield "items", self._convert_union(places, {}) if places else self.convert(items)


def _any_value(description: str) -> Schema:
    """Return a schema for any value: a type is required everywhere but beside `anyOf`."""
    first, *others = (dict(one) for one in _ANYTHING)
    return {"anyOf": [_add_description(first, description), *others]}


def _placeholder(reference: str, schema: Schema) -> Schema:
    """Return the placeholder for a recursive value at the depth where it isn't described any further."""
    name = unquote(reference.rpartition("/")[2])
    kind = "object" if "properties" in schema else schema.get("type")
    described = str(schema.get("description") or ""), "" if name == "#" else f"Another {name}."
    return _add_description({"type": kind} if kind else {}, *described)


def _add_description(schema: Schema, *sentences: str, first: bool = False) -> Schema:
    """Return the schema with these sentences in its description, before or after the existing ones."""
    own = str(schema.get("description", ""))
    told = " ".join(filter(None, (*sentences, own) if first else (own, *sentences)))
    return {**schema, "description": told} if told else schema


def _limit_fields(schema: Schema, kind: str) -> Iterator[tuple[str, Any]]:
    for keyword, kinds in _LIMITS.items():
        value = schema.get(keyword)
        if kind in kinds and isinstance(value, int | float) and not isinstance(value, bool):
            yield keyword, value
    pattern = schema.get("pattern")
    if kind == "STRING" and isinstance(pattern, str) and not _UNSUPPORTED_PATTERN.search(pattern):
        yield "pattern", pattern


def _find_types(schema: Schema) -> set[str]:
    """Return the types a schema names, or those implied by its keywords. Empty if it may be anything."""
    named = set(_sort_types(schema.get("type")))
    if schema.get("nullable") is True and named:
        named.add("null")
    return named or {next((kind for keyword, kind in _IMPLIES.items() if keyword in schema), "")} - {""}


def _sort_types(types: object) -> list[str]:
    listed = cast("list[object]", types) if isinstance(types, list) else [types]
    return [name for name in listed if isinstance(name, str) and (name in _TYPES or name == "null")]


def _group_by_type(values: list[Any]) -> dict[str, list[Any]]:
    sorted_out: dict[str, list[Any]] = {}
    for value in values:
        sorted_out.setdefault(_type_of(value), []).append(value)
    if "integer" in sorted_out and "number" in sorted_out:
        sorted_out["number"] = sorted_out.pop("integer") + sorted_out["number"]
    return sorted_out


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _as_schemas(value: object) -> list[Schema]:
    return [cast("Schema", one) for one in cast("list[Any]", value) if isinstance(one, dict)] if isinstance(value, list) else []


def _as_names(value: object) -> list[str]:
    return [name for name in cast("list[object]", value) if isinstance(name, str)] if isinstance(value, list) else []


def _as_mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _merge_mappings(first: object, second: object) -> Schema:
    """Return the entries of both, in order; the first one's where both have an entry."""
    return {**_as_mapping(first), **_as_mapping(second), **_as_mapping(first)}


def _add_schema(schema: Schema, other: Schema) -> None:
    """Add the requirements of another schema. If both have a keyword, the first one counts."""
    properties = _merge_mappings(schema.get("properties"), other.get("properties"))
    required = list(dict.fromkeys(_as_names(schema.get("required")) + _as_names(other.get("required"))))
    for keyword, value in other.items():
        schema.setdefault(keyword, value)
    schema.update({name: value for name, value in (("properties", properties), ("required", required)) if value})


def _merge_enums(branches: list[Schema]) -> list[Schema]:
    """Merge alternatives that only list strings into one list."""
    if len(branches) < 2 or not all(branch.keys() == {"type", "enum"} for branch in branches):
        return branches
    return [{"type": "STRING", "enum": list(dict.fromkeys(value for branch in branches for value in branch["enum"]))}]


def _merge_to_object(schema: Schema) -> Schema:
    """Return one object with the properties of all alternatives; those are required that all of them require."""
    branches = [branch for branch in schema.get("anyOf", [schema]) if branch["type"] == "OBJECT"]
    properties: Schema = {}
    for branch in branches:
        properties = _merge_mappings(properties, branch.get("properties"))
    required = [name for name in properties if all(name in branch.get("required", ()) for branch in branches)]
    whole: Schema = {"type": "OBJECT", "properties": properties, **({"required": required} if required else {})}
    return _add_description(whole, *(branch.get("description", "") for branch in branches))


def _resolve(root: Mapping[str, Any], reference: str) -> Schema:
    """Return the schema that a reference inside of `root` names; one that allows anything if the reference is dangling."""
    found: Any = dict(root) if re.match(r"#(/|$)", reference) else None
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            items = cast("list[Any]", found)
            found = items[int(name)] if name.isdecimal() and int(name) < len(items) else None
        else:
            found = _as_mapping(found).get(name)
    return dict(_as_mapping(found))
