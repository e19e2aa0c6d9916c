"""JSON schemas for servers that can guarantee that every reply fits: a subset of JSON Schema.

Pure. `to_strict_schema` converts a schema to the subset of OpenAI's strict mode, if possible. It makes no property optional,
nullable or required that wasn't, and inlines nothing. `to_answer_schema` is for structured answers, which are validated again
when they arrive: it may require more than the schema does, or leave to validation what servers can't guarantee.
"""

from typing import Any, cast

import msgspec

Schema = dict[str, Any]

# The lowest limits that are documented for any server with this mode.
MAX_PROPERTIES = 100
MAX_LEVELS = 5
MAX_VALUES = 500  # of all enums together
MAX_CHARACTERS = 15_000  # in names of properties and definitions, and in values of enums and constants

_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
_DEFINITIONS = ("$defs", "definitions")
_BESIDE_CHOICES = frozenset(("title", "description", *_DEFINITIONS))
_DROPPED = frozenset(("$schema", "$id", "$comment", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"))
_BY_TYPE = {
    "string": ("pattern", "format"),
    "number": ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "integer": ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "boolean": (),
    "null": (),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
}


_CONSTRAINTS = {  # what not every server with structured output takes; they go into the description
    "string": ("pattern", "minLength", "maxLength"),
    "number": _BY_TYPE["number"],
    "integer": _BY_TYPE["integer"],
    "array": ("minItems", "maxItems", "uniqueItems", "prefixItems", "contains"),
    "object": ("minProperties", "maxProperties", "propertyNames"),
}


class _NotStrict(Exception):
    """Raised for a schema that can't be written in the subset."""


def to_strict_schema(schema: Schema) -> Schema | None:
    """Return the schema for strict mode; None if that would change what it means.

    Annotations that the mode refuses, such as defaults, are left out. An object that lists its properties and says nothing about
    others is closed, so whatever fits the result fits the schema.
    """
    conversion = _StrictConversion(schema)
    try:
        strict = conversion.convert(schema, 1)
    except (_NotStrict, RecursionError, TypeError):  # the last for values that no schema has, such as a list of lists as `required`
        return None
    return strict if strict.get("type") == "object" and conversion.within_limits else None


def to_answer_schema(schema: Schema) -> Schema | None:
    """Return the schema of an answer in a form that every server with structured output accepts; None if there is no such schema.

    All properties are required, as an answer with all of them fits too. Constraints on values are moved to descriptions.
    """
    conversion = _AnswerConversion(schema)
    try:
        shape = conversion.convert(schema, 1)
    except (_NotStrict, RecursionError, TypeError):
        return None
    return shape if shape.get("type") == "object" and shape["properties"] and conversion.within_limits else None


class _StrictConversion:
    """Converts one schema, and counts what has limits."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._properties = 0
        self._values = 0
        self._characters = 0

    @property
    def within_limits(self) -> bool:
        """Whether what was converted so far isn't too large."""
        return self._properties <= MAX_PROPERTIES and self._values <= MAX_VALUES and self._characters <= MAX_CHARACTERS

    def convert(self, schema: Any, level: int) -> Schema:
        """Convert a schema with everything in it; `level` is its depth below the root."""
        given = {name: value for name, value in _require_object(schema).items() if name not in _DROPPED}
        given = self._replace_one_of(_replace_all_of(given))
        given |= {name: self._convert_named(given[name], level) for name in _DEFINITIONS if name in given}
        if "anyOf" in given:
            _require(set(given) <= _BESIDE_CHOICES | {"anyOf"} and bool(given["anyOf"]))
            return {**given, "anyOf": [self.convert(one, level) for one in _require_list(given["anyOf"])]}
        if "$ref" in given:
            _require(set(given) <= _BESIDE_CHOICES | {"$ref"} and self._resolve(given["$ref"]) is not None)
            return _isolate_reference(given)
        return self._convert_typed(given, level)

    def _convert_typed(self, given: Schema, level: int) -> Schema:
        """Convert a schema that describes its values itself. It gets a type, which is derived from its values if it isn't given."""
        values = [*_require_list(given.get("enum", [])), *([given["const"]] if "const" in given else [])]
        self._values += len(_require_list(given.get("enum", [])))
        self._characters += sum(len(value) for value in values if isinstance(value, str))
        types = _list_types(given) or list(dict.fromkeys(map(_type_of, values)))
        _require(bool(types) and set(types) <= set(_BY_TYPE))
        known = {"type", "enum", "const", *_BESIDE_CHOICES, *[name for one in types for name in _BY_TYPE[one]]}
        _require(set(given) <= known and given.get("format", "date") in _FORMATS)
        strict = {"type": types[0] if len(types) == 1 else types, **given}
        if "object" in types:
            strict |= self._close_object(given, level)
        if "array" in types:
            _require("items" in given and level <= MAX_LEVELS)
            strict["items"] = self.convert(given["items"], level + 1)
        return strict

    def _close_object(self, given: Schema, level: int) -> Schema:
        """Return the fields of an object that has all the properties it lists, and no others. Without a list it could have any."""
        properties = _require_object(given.get("properties"))
        _require(self._is_closed(given, properties) and level <= MAX_LEVELS)
        self._properties += len(properties)
        named = self._convert_named(properties, level + 1)
        return {"properties": named, "required": list(properties), "additionalProperties": False}

    def _is_closed(self, given: Schema, properties: Schema) -> bool:
        closed = given["additionalProperties"] is False if "additionalProperties" in given else bool(properties)
        return closed and set(_require_list(given.get("required", []))) == set(properties)

    def _convert_named(self, schemas: Any, level: int) -> Schema:
        self._characters += sum(map(len, _require_object(schemas)))
        return {name: self.convert(one, level) for name, one in _require_object(schemas).items()}

    def _replace_one_of(self, given: Schema) -> Schema:
        """Return the schema with `anyOf` for `oneOf`, which is the same if nothing fits two of the schemas."""
        if "oneOf" not in given:
            return given
        _require("anyOf" not in given and self._are_exclusive(_require_list(given["oneOf"])))
        rest = {name: value for name, value in given.items() if name not in ("oneOf", "discriminator")}
        return {**rest, "anyOf": given["oneOf"]}

    def _are_exclusive(self, schemas: list[Any]) -> bool:
        resolved = [self._resolve(schema.get("$ref")) or schema for schema in map(_require_object, schemas)]
        types = [_list_types(schema) for schema in resolved]
        if _are_disjoint(types) or any(one != ["object"] for one in types):
            return _are_disjoint(types)
        properties = [_require_object(schema.get("properties", {})) for schema in resolved]
        shared = [name for name in properties[0] if all(name in schema.get("required", []) for schema in resolved)]
        return any(_are_disjoint([_list_values(one.get(name, {})) for one in properties]) for name in shared)

    def _resolve(self, reference: Any) -> Schema | None:
        """Return the schema that a reference leads to: the root, or one of its definitions."""
        if reference == "#":
            return self._root
        parts = str(reference).split("/")
        if len(parts) != 3 or parts[0] != "#" or parts[1] not in _DEFINITIONS:
            return None
        return _require_object(self._root.get(parts[1], {})).get(parts[2])


class _AnswerConversion(_StrictConversion):
    """Converts the schema of an answer. Some servers accept no recursive schema, and none of the constraints."""

    def __init__(self, root: Schema) -> None:
        super().__init__(root)
        self._inside: list[str] = []

    def convert(self, schema: Any, level: int) -> Schema:
        """Convert a schema with everything in it, and its definitions only where they are used."""
        reference = _require_object(schema).get("$ref")
        if reference is None:
            return super().convert(_describe_constraints(schema), level)
        _require(reference not in self._inside)
        resolved = self._resolve(reference)
        _require(resolved is not None)
        self._inside.append(reference)
        super().convert(_describe_constraints(_require_object(resolved)), level)  # whether it can be written, at this level
        self._inside.pop()
        return super().convert(schema, level)

    def _is_closed(self, given: Schema, properties: Schema) -> bool:
        return bool(properties) and not isinstance(given.get("additionalProperties"), dict)

    def _replace_one_of(self, given: Schema) -> Schema:
        if "oneOf" not in given or "anyOf" in given:
            return super()._replace_one_of(given)
        rest = {name: value for name, value in given.items() if name not in ("oneOf", "discriminator")}
        return {**rest, "anyOf": given["oneOf"]}


def _describe_constraints(schema: Schema) -> Schema:
    """Return the schema with the constraints that servers don't guarantee in its description instead."""
    types = _list_types(schema)
    names = [name for one in types for name in _CONSTRAINTS.get(one, ()) if name in schema]
    names += ["format"] if schema.get("format", "date") not in _FORMATS else []
    if not names:
        return schema
    told = "; ".join([f"{name}: {msgspec.json.encode(schema[name]).decode()}" for name in dict.fromkeys(names)])
    rest = {name: value for name, value in schema.items() if name not in names}
    return {**rest, "description": f"{schema['description']} ({told})" if schema.get("description") else told}


def _require(fine: bool) -> None:
    if not fine:
        raise _NotStrict


def _require_object(value: Any) -> Schema:
    _require(isinstance(value, dict))
    return cast("Schema", value)


def _require_list(value: Any) -> list[Any]:
    _require(isinstance(value, list))
    return cast("list[Any]", value)


def _list_types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return cast("list[str]", types) if isinstance(types, list) else [str(types)]


def _type_of(value: Any) -> str:
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
        case _:
            raise _NotStrict


def _replace_all_of(given: Schema) -> Schema:
    """Return the schema with `anyOf` for an `allOf` of one schema, which may have annotations beside it."""
    if "allOf" not in given:
        return given
    _require("anyOf" not in given and len(_require_list(given["allOf"])) == 1)
    return {**{name: value for name, value in given.items() if name != "allOf"}, "anyOf": given["allOf"]}


def _isolate_reference(given: Schema) -> Schema:
    """Return a reference without keywords beside it: those go beside a choice of this one reference."""
    if len(given) == 1:
        return given
    return {**{name: value for name, value in given.items() if name != "$ref"}, "anyOf": [{"$ref": given["$ref"]}]}


def _list_values(schema: Any) -> list[str]:
    """Return the only strings that fit a schema; empty if it doesn't list them."""
    given = _require_object(schema)
    values = [given["const"]] if "const" in given else _require_list(given.get("enum", []))
    return [value for value in values if isinstance(value, str)] if all(isinstance(value, str) for value in values) else []


def _are_disjoint(lists: list[list[str]]) -> bool:
    """Return whether each list has items, and nothing is in two of them. An integer is a number too."""
    names = [name for one in lists for name in {"integer" if name == "number" else name for name in one}]
    return all(lists) and len(names) == len(set(names))
