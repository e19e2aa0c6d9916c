"""A value from its raw text and its schema, for forms that mark no types. What doesn't fit stays text; judging is for others."""

import re
from typing import Any, cast

from treadle.dialects import mend

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


def value_of(raw: str, schema: _Schema, root: _Schema) -> Any:
    """What `raw` means where `schema` asks for it; `root` is what its references go by. Without a schema, text or JSON."""
    schema = resolved(schema, root)
    kinds = kinds_of(schema, root)
    if not kinds:
        return _untyped(raw, schema)
    if "string" in kinds and raw in cast("list[object]", schema.get("enum", ())):
        return raw
    for kind in kinds:
        fits, value = _as(kind, raw, schema, root)
        if fits:
            return value
    return raw


def values_of(raws: list[str], schema: _Schema, root: _Schema) -> Any:
    """What one or several raw texts under the same name mean: several are a list."""
    if len(raws) == 1:
        return value_of(raws[0], schema, root)
    items = _items(resolved(schema, root))
    return [value_of(raw, items, root) for raw in raws]


def kinds_of(schema: _Schema, root: _Schema) -> list[str]:
    """The JSON types a schema allows, the more particular first; none where it doesn't say."""
    named = schema.get("type", ())
    kinds = {_ALIASES.get(kind, kind) for kind in ([named] if isinstance(named, str) else cast("list[str]", named))}
    for alternative in cast("list[_Schema]", schema.get("anyOf") or schema.get("oneOf") or ()):
        kinds.update(kinds_of(resolved(alternative, root), root))
    return [kind for kind in _ORDER if kind in kinds]


def resolved(schema: _Schema, root: _Schema) -> _Schema:
    """The schema that a reference within `root` stands for, or the schema itself."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target = root
    for step in reference[2:].split("/"):
        inner = target.get(step)
        target = cast("_Schema", inner) if isinstance(inner, dict) else {}
    return target


def _as(kind: str, raw: str, schema: _Schema, root: _Schema) -> tuple[bool, Any]:
    text = raw.strip()
    match kind:
        case "null":
            return text in {"null", "None"}, None
        case "boolean":
            return text in _BOOLEANS, _BOOLEANS.get(text)
        case "integer":
            return (True, int(text)) if _INTEGER.fullmatch(text) else (False, None)
        case "number":
            return (True, _number(text)) if _NUMBER.fullmatch(text) else (False, None)
        case "array":
            return _array(raw, schema, root)
        case "object":
            value = _json(text)
            return isinstance(value, dict), value
        case _:
            return True, raw


def _number(text: str) -> int | float:
    return int(text) if _INTEGER.fullmatch(text) else float(text)


def _array(raw: str, schema: _Schema, root: _Schema) -> tuple[bool, Any]:
    """A list, or the only item of one where other kinds don't come into question."""
    value = _json(raw.strip())
    if isinstance(value, list):
        return True, cast("list[Any]", value)
    if len(kinds_of(schema, root)) > 1:
        return False, None
    return True, [value_of(raw, _items(schema), root)] if raw.strip() else []


def _items(schema: _Schema) -> _Schema:
    items = schema.get("items")
    return cast("_Schema", items) if isinstance(items, dict) else {}


def _json(text: str) -> Any:
    outcome = mend.read_json(text) if text[:1] in {"{", "["} else None
    return outcome.value if isinstance(outcome, mend.Read) else None


def _untyped(raw: str, schema: _Schema) -> Any:
    """One of the values a schema lists, JSON where it looks like it, else text."""
    listed = cast("list[object]", schema.get("enum", [schema["const"]] if "const" in schema else []))
    if raw in listed:
        return raw
    for value in listed:
        if not isinstance(value, str) and mend.read_json(raw.strip()) == mend.Read(value):
            return value
    value = _json(raw.strip())
    return raw if value is None else value
