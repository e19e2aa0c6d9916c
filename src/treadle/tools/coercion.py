"""Coerces arguments that aren't valid as they are, where the value is certain, else collects every issue.

The slow path (see `compiled_schema` for the usual one). It changes spellings, never meanings: what is ambiguous is an issue.
"""

import re
from typing import Any, cast

import msgspec

from treadle.tools.compiled_schema import (
    IS_TYPE,
    CompiledSchema,
    FieldSchemas,
    ItemSchemas,
    Schema,
    branches_of,
    options_of,
    types_of,
)
from treadle.tools.issues import ArgumentIssue, describe_schema
from treadle.tools.name_matching import similar_names
from treadle.tools.schema_rules import compile_schema_rules
from treadle.tools.values import as_object, format_json_value, freeze

_NUMBER = r"-?(?:0|[1-9][0-9]*)(?P<point>\.[0-9]+)?(?P<power>[eE][+-]?[0-9]+)?"  # compiled when first needed
_LONGEST_NUMBER = 300
_EXACT = 2**53  # whole numbers beyond it aren't certain once they were floats
_TRUTHS = {"true": True, "false": False}
_NULLS = frozenset(("null", "None"))
_NOT = object()  # no certain reading; None is one


def coerce_value(value: Any, schema: Any, scope: CompiledSchema, path: str, issues: list[ArgumentIssue]) -> Any:
    """Return `value` coerced to `schema`; where that isn't certain, unchanged, with what is wrong added to `issues`."""
    if scope.test(schema)(value):
        return value
    keywords = as_object(schema)
    if keywords is None:
        issues.append(ArgumentIssue(path, "nothing here", format_json_value(value)))
        return value
    fitted = _convert(value, keywords)
    if fitted is _NOT:
        issues.append(ArgumentIssue(path, describe_schema(keywords), format_json_value(value)))
        return value
    became_null = fitted is None and value is not None
    return None if became_null else _coerce_inside(fitted, keywords, scope, path, issues)


def _coerce_inside(value: Any, schema: Schema, scope: CompiledSchema, path: str, issues: list[ArgumentIssue]) -> Any:
    if "$ref" in schema:
        value = coerce_value(value, scope.resolve(schema["$ref"]), scope, path, issues)
    for branch in branches_of(schema, "allOf"):
        value = coerce_value(value, branch, scope, path, issues)
    value = _coerce_branch(value, schema, "anyOf", scope, path, issues)
    value = _coerce_branch(value, schema, "oneOf", scope, path, issues)
    if isinstance(value, dict):
        value = _coerce_fields(cast("dict[str, Any]", value), FieldSchemas(schema), scope, path, issues)
    elif isinstance(value, list):
        items = ItemSchemas(schema)
        value = [
            coerce_value(item, items.at(at), scope, f"{path}[{at}]", issues) for at, item in enumerate(cast("list[Any]", value))
        ]
    if "not" in schema and scope.test(schema["not"])(value):
        issues.append(ArgumentIssue(path, f"anything but {describe_schema(schema['not'])}", format_json_value(value)))
    issues += [
        ArgumentIssue(path, words, format_json_value(value)) for test, words in compile_schema_rules(schema) if not test(value)
    ]
    return value


# Objects


def _coerce_fields(
    value: dict[str, Any], fields: FieldSchemas, scope: CompiledSchema, path: str, issues: list[ArgumentIssue]
) -> dict[str, Any]:
    fitted: dict[str, Any] = {}
    for name, inner in value.items():
        where = f"{path}.{name}" if path else name
        schemas = fields.schemas(name)
        if schemas == [False] and name not in fields.properties:
            issues.append(ArgumentIssue(where, _suggest_field(name, fields, value), format_json_value(inner)))
            continue
        for schema in schemas:
            inner = coerce_value(inner, schema, scope, where, issues)
        fitted[name] = inner
    for name in fields.required:
        if name not in value:
            where = f"{path}.{name}" if path else name
            issues.append(ArgumentIssue(where, describe_schema(fields.properties.get(name, True)), "nothing"))
    return fitted


def _suggest_field(name: str, fields: FieldSchemas, value: dict[str, Any]) -> str:
    """Return what is expected in place of an unknown field: the nearest one that wasn't given, else all there are."""
    free = [known for known in fields.properties if known not in value]
    near = similar_names(name, free)
    if near:
        return f'nothing of this name (did you mean "{near[0]}"?)'
    return f"nothing of this name (only {', '.join(fields.properties)})" if fields.properties else "nothing of this name"


# Branches


def _coerce_branch(value: Any, schema: Schema, keyword: str, scope: CompiledSchema, path: str, issues: list[ArgumentIssue]) -> Any:
    """Return the value as it is if a branch accepts it, else coerced by the only branch that can."""
    branches = branches_of(schema, keyword)
    taking = sum([scope.test(branch)(value) for branch in branches])
    if not branches or taking == 1 or (taking and keyword == "anyOf"):
        return value
    if taking:
        issues.append(ArgumentIssue(path, f"only one of {describe_schema(schema)}", format_json_value(value)))
        return value
    readings: list[Any] = []
    failures: list[list[ArgumentIssue]] = []
    for branch in branches:
        found: list[ArgumentIssue] = []
        reading = coerce_value(value, branch, scope, path, found)
        failures.append(found)
        if not found and scope.test(branch)(reading):
            readings.append(reading)
    if len({freeze(reading) for reading in readings}) == 1:
        return readings[0]
    issues += _closest_branch_issues(failures, path) or [ArgumentIssue(path, describe_schema(schema), format_json_value(value))]
    return value


def _closest_branch_issues(failures: list[list[ArgumentIssue]], path: str) -> list[ArgumentIssue]:
    """Return the issues of the one branch that accepted the value's type and failed further in."""
    inner = [found for found in failures if found and all(issue.path != path for issue in found)]
    return inner[0] if len(inner) == 1 else []


# Certain readings


def _convert(value: Any, schema: Schema) -> Any:
    options = options_of(schema)
    if options is not None:
        return _match_option(value, options)
    types = types_of(schema)
    if schema.get("nullable") is True and types:
        types = [*types, "null"]
    if not types or any(IS_TYPE[name](value) for name in types):
        return value
    readings = [reading for name in types if (reading := _to_type(value, name)) is not _NOT]
    return readings[0] if len({freeze(reading) for reading in readings}) == 1 else _NOT


def _match_option(value: Any, options: list[Any]) -> Any:
    """Return the one option that is spelled like the value, except for case and quotes."""
    if any(freeze(option) == freeze(value) for option in options):
        return value
    spelled = _normalize_spelling(value) if type(value) in (str, int) else None
    same = [option for option in options if spelled is not None and _normalize_spelling(option) == spelled]
    return same[0] if len(same) == 1 else _NOT


def _normalize_spelling(value: Any) -> str | None:
    match value:
        case str():
            return value.strip().casefold()
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case _:
            return None


def _to_type(value: Any, name: str) -> Any:
    match value:
        case str():
            return _parse_text_as(value, name)
        case bool():
            return _NOT
        case int() if name == "string":
            return str(value)
        case float() if name == "integer":
            return _to_integer(value)
        case _:
            return _NOT


def _parse_text_as(text: str, name: str) -> Any:
    match name:
        case "integer" | "number":
            number = _parse_number(text.strip())
            return _to_integer(number) if name == "integer" else number
        case "boolean":
            return _TRUTHS.get(text.strip().lower(), _NOT)
        case "null":
            return None if text.strip() in _NULLS else _NOT
        case _:
            return _decode_json(text, dict if name == "object" else list)  # text that should be text is never asked


def _parse_number(text: str) -> Any:
    match = re.fullmatch(_NUMBER, text) if len(text) <= _LONGEST_NUMBER else None
    if match is None:
        return _NOT
    if match["point"] is None and match["power"] is None:
        return int(text)
    number = float(text)
    return number if IS_TYPE["number"](number) else _NOT


def _to_integer(number: Any) -> Any:
    if type(number) is float:
        return int(number) if number.is_integer() and abs(number) < _EXACT else _NOT
    return number


def _decode_json(text: str, kind: type) -> Any:
    """Decode an object or list that was encoded twice."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _NOT
    return value if type(value) is kind else _NOT
