"""Converts the raw texts of a call's parameters: by the tool's schema, or by the type that the format itself states."""

from typing import Any, cast

from msgspec import Struct

from treadle.dialects import json_repair
from treadle.dialects.forms import OfferedTools
from treadle.dialects.schema_values import convert_value, convert_values, resolve_reference, schema_types

_Schema = dict[str, Any]

WRAPPERS = ("arguments", "parameters", "properties", "input", "args")  # parameters in which all arguments are wrapped


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
