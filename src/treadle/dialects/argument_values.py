"""Converts the raw texts of a call's parameters: by the tool's schema, or by the type that the format itself states.

What doesn't fit a schema stays text; validation is done elsewhere.
"""

import re
from typing import Any, cast

from msgspec import Struct

from treadle.dialects import json_repair
from treadle.dialects.forms import OfferedTools

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
WRAPPERS = ("arguments", "parameters", "properties", "input", "args")  # parameters in which all arguments are wrapped


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


class RawValue(Struct, frozen=True):
    """A value as it was written. `string` is the type its tag states, if any; `quoted` says that strings may be in quotes."""

    text: str
    string: bool | None = None
    quoted: bool = False


def convert_arguments(given: dict[str, list[RawValue]], name: str, offer: OfferedTools) -> dict[str, Any]:
    """Return the arguments of a call. Without tools there are no types, and values stay text."""
    properties, root = offer.properties(name), offer.schema(name)
    arguments = {
        key: _convert_values(raws, _property_schema(key, properties), root, plain=offer.empty) for key, raws in given.items()
    }
    return _unwrap(arguments, properties)


def lacks_required(arguments: dict[str, Any], name: str, offer: OfferedTools) -> bool:
    """Return whether a required argument is missing."""
    return any(key not in arguments for key in offer.schema(name).get("required") or ())


def _property_schema(key: str, properties: dict[str, Any]) -> _Schema:
    schema = properties.get(key)
    return cast("_Schema", schema) if isinstance(schema, dict) else {}


def _convert_values(raws: list[RawValue], schema: _Schema, root: _Schema, *, plain: bool) -> Any:
    """Convert the values of one parameter: of several values the last one, or all of them if it is a list."""
    raw, kinds = raws[-1], schema_types(resolve_reference(schema, root), root)
    if raw.string is not None and not (kinds and not (raw.string and "string" in kinds)):
        return raw.text if raw.string else _parse_json_or_text(raw.text)
    if plain:
        return raw.text
    if len(raws) > 1 and "array" in kinds:
        return convert_values([raw.text for raw in raws], schema, root)
    return convert_value(_strip_quotes(raw, kinds), schema, root)


def _parse_json_or_text(text: str) -> Any:
    outcome = json_repair.read_json(text)
    return outcome.value if isinstance(outcome, json_repair.JsonRead) else text


def _strip_quotes(raw: RawValue, kinds: list[str]) -> str:
    r"""Return the text without the quotes around a string, or without the escapes of JSON outside a string: `[\"a\"]`."""
    text = raw.text.strip()
    if raw.quoted and "string" in kinds and len(text) > 1 and text[0] == text[-1] == '"':
        inner = _parse_json_or_text(text)
        return inner if isinstance(inner, str) else raw.text
    if text[:1] in {"[", "{"} and '\\"' in text and not isinstance(json_repair.read_json(text), json_repair.JsonRead):
        inner = _parse_json_or_text(f'"{text}"')
        return inner if isinstance(json_repair.read_json(inner), json_repair.JsonRead) else raw.text
    return raw.text


def _unwrap(arguments: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    """Return the inner arguments, where the only one is a parameter that the tool doesn't have and holds those it has."""
    key, value = next(iter(arguments.items()), ("", None))
    if len(arguments) != 1 or key not in WRAPPERS or key in properties:
        return arguments
    outcome = json_repair.read_object(value) if isinstance(value, str) else json_repair.JsonRead(value)
    inner = outcome.value if isinstance(outcome, json_repair.JsonRead) else None
    if isinstance(inner, dict) and inner and inner.keys() <= properties.keys():
        return cast("dict[str, Any]", inner)
    return arguments
