"""JSON Schema as Gemini takes it: the subset of OpenAPI 3.0 that `parameters` and `responseSchema` accept. Pure.

What can't be expressed there is left out or named in a description, and recursive values are described a few levels deep:
arguments are checked against the tool's own schema anyway.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from treadle.models.encoding import encode

Schema = dict[str, Any]

REPEATS = 2  # how often one definition may be inlined inside of itself
NODES = 500  # schemas after which references are inlined one level deep: definitions that name each other multiply

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


def convert_schema(schema: Mapping[str, Any], *, ordered: bool = False) -> Schema:
    """A schema as Gemini takes it. `ordered` keeps the order of the properties in what the model writes."""
    return _Converter(schema, ordered=ordered).convert(schema)


def convert_parameters(schema: Mapping[str, Any]) -> Schema | None:
    """The parameters of a function: always an object. None for a function without any, which must not be declared."""
    converted = _single_object(convert_schema(schema))
    return converted if converted.get("properties") else None


class _Converter:
    """Converts one schema with its definitions."""

    def __init__(self, root: Mapping[str, Any], *, ordered: bool) -> None:
        self._root = root
        self._ordered = ordered
        self._open: Counter[str] = Counter()  # references that are being inlined
        self._nodes = 0

    def convert(self, schema: object) -> Schema:
        """Any schema, `True` and `False` included."""
        self._nodes += 1
        if not isinstance(schema, Mapping):
            return _anything("")
        used: list[str] = []
        expanded = self._expanded(cast("Mapping[str, Any]", schema), used)
        branches = _schemas(expanded.get("anyOf")) + _schemas(expanded.get("oneOf"))
        types = _types(expanded)
        if "object" in types:
            self._loosen(expanded, branches, used)
        self._open.update(used)
        try:
            return self._plain(expanded, branches, types)
        finally:
            self._open.subtract(used)

    def _expanded(self, schema: Mapping[str, Any], used: list[str]) -> Schema:
        """A schema with what its reference and its `allOf` say in it. Adds the references it follows to `used`."""
        merged = dict(schema)
        reference = merged.pop("$ref", None)
        if isinstance(reference, str):
            target = _resolve(self._root, reference)
            if self._repeats(reference, used):
                return _cut(reference, {**target, **merged})
            used.append(reference)
            return self._expanded({**target, **merged}, used)
        for part in _schemas(merged.pop("allOf", None)):
            _add(merged, self._expanded(part, used))
        return merged

    def _repeats(self, reference: str, used: list[str]) -> bool:
        """Whether a reference goes round, or there is too much already to follow any but the outermost ones."""
        inside = self._open.total() > 0
        return self._open[reference] + used.count(reference) >= REPEATS or (inside and self._nodes > NODES)

    def _loosen(self, schema: Schema, branches: list[Schema], used: list[str]) -> None:
        """Give an object the properties of all its alternatives: `anyOf` must not stand beside anything else."""
        properties = _mapping(schema.get("properties"))
        for branch in branches:
            properties = _joined(properties, self._expanded(branch, used).get("properties"))
        schema["properties"] = properties

    def _plain(self, schema: Schema, branches: list[Schema], types: set[str]) -> Schema:
        """A schema without references and `allOf`."""
        if branches and not types:
            return self._union(branches, schema)
        if len(types - {"null"}) > 1:
            own = {key: value for key, value in schema.items() if key != "description"}
            return self._union([{**own, "type": name} for name in _in_order(schema["type"])], schema)
        converted = self._typed(schema, types)
        return {**converted, "nullable": True} if "null" in types else converted

    def _union(self, branches: list[Schema], schema: Schema) -> Schema:
        """One of several schemas. Nothing but `anyOf` may stand there, so what belongs to all goes into the branches."""
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
            return {**_described({"type": "STRING"}, description), "nullable": True}
        converted = _joined_enums(converted)
        converted[0] = _described(converted[0], description, first=True)
        if nullable:
            converted = [{**one, "nullable": True} for one in converted]
        return converted[0] if len(converted) == 1 else {"anyOf": converted}

    def _typed(self, schema: Schema, types: set[str]) -> Schema:
        """A schema of one type, or of none at all."""
        description = str(schema.get("description") or "")
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list) and values:
            return self._one_of(cast("list[Any]", values), schema)
        kind = _TYPES.get(next(iter(types - {"null"}), ""))
        if kind is None:
            return _described({"type": "STRING"}, description) if types else _anything(description)
        converted: Schema = {"type": kind}
        if kind == "OBJECT":
            converted.update(self._object(schema))
        elif kind == "ARRAY":
            converted.update(self._array(schema))
        converted.update(_limits(schema, kind))
        form = schema.get("format")
        if not isinstance(form, str):
            return _described(converted, description)
        if form in _FORMATS.get(kind, ()):
            return _described({**converted, "format": form}, description)
        return _described(converted, description, f"Format: {form}.")

    def _one_of(self, values: list[Any], schema: Schema) -> Schema:
        """Fixed values. Only strings that aren't empty may be listed; other values are named in the description."""
        by_type = _by_type(values)
        nullable = by_type.pop("null", None) is not None
        if len(by_type) != 1:
            branches: list[Schema] = [{"type": kind, "enum": some} for kind, some in by_type.items()]
            return self._union([*branches, *([{"type": "null"}] if nullable else [])], schema)
        ((kind, some),) = by_type.items()
        description = str(schema.get("description") or "")
        if kind == "string" and "" not in some:  # an empty one is refused
            converted = _described({"type": "STRING", "enum": list(dict.fromkeys(some))}, description)
        else:
            hint = f"One of: {', '.join(encode(value).decode() for value in some)}."
            full: Schema = self._typed({"type": kind}, {kind}) if kind in ("array", "object") else {"type": _TYPES[kind]}
            converted = _described(full, description, hint)
        return {**converted, "nullable": True} if nullable else converted

    def _object(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        properties = {name: self.convert(value) for name, value in _mapping(schema.get("properties")).items()}
        if not properties:
            return
        yield "properties", properties
        required = [name for name in dict.fromkeys(_names(schema.get("required"))) if name in properties]
        if required:
            yield "required", required
        if self._ordered:
            yield "propertyOrdering", list(properties)

    def _array(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        items = schema.get("items")
        places = _schemas(schema.get("prefixItems")) or _schemas(items)
        yield "items", self._union(places, {}) if places else self.convert(items)


def _anything(description: str) -> Schema:
    """Any value: a type is required everywhere but beside `anyOf`."""
    first, *others = (dict(one) for one in _ANYTHING)
    return {"anyOf": [_described(first, description), *others]}


def _cut(reference: str, schema: Schema) -> Schema:
    """What stands for a recursive value at the depth where it isn't described any further."""
    name = unquote(reference.rpartition("/")[2])
    kind = "object" if "properties" in schema else schema.get("type")
    described = str(schema.get("description") or ""), "" if name == "#" else f"Another {name}."
    return _described({"type": kind} if kind else {}, *described)


def _described(schema: Schema, *sentences: str, first: bool = False) -> Schema:
    """The schema with these sentences in its description, before or after those it has."""
    own = str(schema.get("description", ""))
    told = " ".join(filter(None, (*sentences, own) if first else (own, *sentences)))
    return {**schema, "description": told} if told else schema


def _limits(schema: Schema, kind: str) -> Iterator[tuple[str, Any]]:
    for keyword, kinds in _LIMITS.items():
        value = schema.get(keyword)
        if kind in kinds and isinstance(value, int | float) and not isinstance(value, bool):
            yield keyword, value
    pattern = schema.get("pattern")
    if kind == "STRING" and isinstance(pattern, str) and not _UNSUPPORTED_PATTERN.search(pattern):
        yield "pattern", pattern


def _types(schema: Schema) -> set[str]:
    """The types a schema names, or those that follow from its keywords. None where it may be anything."""
    named = set(_in_order(schema.get("type")))
    if schema.get("nullable") is True and named:
        named.add("null")
    return named or {next((kind for keyword, kind in _IMPLIES.items() if keyword in schema), "")} - {""}


def _in_order(types: object) -> list[str]:
    listed = cast("list[object]", types) if isinstance(types, list) else [types]
    return [name for name in listed if isinstance(name, str) and (name in _TYPES or name == "null")]


def _by_type(values: list[Any]) -> dict[str, list[Any]]:
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


def _schemas(value: object) -> list[Schema]:
    return [cast("Schema", one) for one in cast("list[Any]", value) if isinstance(one, dict)] if isinstance(value, list) else []


def _names(value: object) -> list[str]:
    return [name for name in cast("list[object]", value) if isinstance(name, str)] if isinstance(value, list) else []


def _mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _joined(first: object, second: object) -> Schema:
    """The entries of both, in order; those of the first where both have one."""
    return {**_mapping(first), **_mapping(second), **_mapping(first)}


def _add(schema: Schema, other: Schema) -> None:
    """Add what another schema requires besides. Where both say something of one keyword, the first one counts."""
    properties = _joined(schema.get("properties"), other.get("properties"))
    required = list(dict.fromkeys(_names(schema.get("required")) + _names(other.get("required"))))
    for keyword, value in other.items():
        schema.setdefault(keyword, value)
    schema.update({name: value for name, value in (("properties", properties), ("required", required)) if value})


def _joined_enums(branches: list[Schema]) -> list[Schema]:
    """Alternatives that only list strings, as one list."""
    if len(branches) < 2 or not all(branch.keys() == {"type", "enum"} for branch in branches):
        return branches
    return [{"type": "STRING", "enum": list(dict.fromkeys(value for branch in branches for value in branch["enum"]))}]


def _single_object(schema: Schema) -> Schema:
    """One object with the properties of all alternatives, of which those are required that all of them require."""
    branches = [branch for branch in schema.get("anyOf", [schema]) if branch["type"] == "OBJECT"]
    properties: Schema = {}
    for branch in branches:
        properties = _joined(properties, branch.get("properties"))
    required = [name for name in properties if all(name in branch.get("required", ()) for branch in branches)]
    whole: Schema = {"type": "OBJECT", "properties": properties, **({"required": required} if required else {})}
    return _described(whole, *(branch.get("description", "") for branch in branches))


def _resolve(root: Mapping[str, Any], reference: str) -> Schema:
    """The schema that a reference inside of `root` names; one that allows anything where it leads nowhere."""
    found: Any = dict(root) if re.match(r"#(/|$)", reference) else None
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            items = cast("list[Any]", found)
            found = items[int(name)] if name.isdecimal() and int(name) < len(items) else None
        else:
            found = _mapping(found).get(name)
    return dict(_mapping(found))
