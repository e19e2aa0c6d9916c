"""Converts raw text by its schema, for forms without types. What doesn't fit stays text; validation is done elsewhere."""

import re
from typing import Any, cast

from treadle.dialects import json_repair

_Schema = dict[str, Any]

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_BOOLEANS = {"true": True, "false": False, "True": True, "False": False, "TRUE": True, "FALSE": False}
_ALIASES = {  # names of types that people write into schemas although JSON Schema has others for them
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "str": "string",
    "dict": "object",
    "list": "array",
}
_ORDER = ("null", "boolean", "integer", "number", "array", "object", "string")  # the more particular first


def convert_value(raw: str, schema: _Schema, root: _Schema) -> Any:
    """Convert `raw` by `schema`; `root` resolves its references. Without a schema, return text or JSON."""
    schema = resolve_reference(schema, root)
    kinds = schema_types(schema, root)
    if not kinds:
        return _convert_untyped(raw, schema)
    if "string" in kinds and raw in cast("list[object]", schema.get("enum", ())):
        return raw
    for kind in kinds:
        fits, value = _convert_as(kind, raw, schema, root)
        if fits:
            return value
    return raw


def convert_values(raws: list[str], schema: _Schema, root: _Schema) -> Any:
    """Convert one or several raw texts of the same name: several are a list."""
    if len(raws) == 1:
        return convert_value(raws[0], schema, root)
    items = _item_schema(resolve_reference(schema, root))
    return [convert_value(raw, items, root) for raw in raws]


def schema_types(schema: _Schema, root: _Schema) -> list[str]:
    """Return the JSON types a schema allows, the more specific first; empty if it doesn't say."""
    named = schema.get("type", ())
    kinds = {_ALIASES.get(kind, kind) for kind in ([named] if isinstance(named, str) else cast("list[str]", named))}
    for alternative in cast("list[_Schema]", schema.get("anyOf") or schema.get("oneOf") or ()):
        kinds.update(schema_types(resolve_reference(alternative, root), root))
    return [kind for kind in _ORDER if kind in kinds]


def resolve_reference(schema: _Schema, root: _Schema) -> _Schema:
    """Return the schema that a reference within `root` points to, or the schema itself."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target = root
    for step in reference[2:].split("/"):
        inner = target.get(step)
        target = cast("_Schema", inner) if isinstance(inner, dict) else {}
    return target


def _convert_as(kind: str, raw: str, schema: _Schema, root: _Schema) -> tuple[bool, Any]:
    text = raw.strip()
    match kind:
        case "null":
            return text in {"null", "None"}, None
        case "boolean":
            return text in _BOOLEANS, _BOOLEANS.get(text)
        case "integer":
            return (True, int(text)) if _INTEGER.fullmatch(text) else (False, None)
        case "number":
            return (True, _parse_number(text)) if _NUMBER.fullmatch(text) else (False, None)
        case "array":
            return _convert_array(raw, schema, root)
        case "object":
            value = _parse_json(text)
            return isinstance(value, dict), value
        case _:
            return True, raw


def _parse_number(text: str) -> int | float:
    return int(text) if _INTEGER.fullmatch(text) else float(text)


def _convert_array(raw: str, schema: _Schema, root: _Schema) -> tuple[bool, Any]:
    """Convert a list, or the only item of one if other types are impossible."""
    value = _parse_json(raw.strip())
    if isinstance(value, list):
        return True, cast("list[Any]", value)
    if len(schema_types(schema, root)) > 1:
        return False, None
    return True, [convert_value(raw, _item_schema(schema), root)] if raw.strip() else []


def _item_schema(schema: _Schema) -> _Schema:
    items = schema.get("items")
    return cast("_Schema", items) if isinstance(items, dict) else {}


def _parse_json(text: str) -> Any:
    outcome = json_repair.read_json(text) if text[:1] in {"{", "["} else None
    return outcome.value if isinstance(outcome, json_repair.JsonRead) else None


def _convert_untyped(raw: str, schema: _Schema) -> Any:
    """Return one of the values a schema lists, JSON if it looks like it, else text."""
    listed = cast("list[object]", schema.get("enum", [schema["const"]] if "const" in schema else []))
    if raw in listed:
        return raw
    for value in listed:
        if not isinstance(value, str) and json_repair.read_json(raw.strip()) == json_repair.JsonRead(value):
            return value
    value = _parse_json(raw.strip())
    return raw if value is None else value
