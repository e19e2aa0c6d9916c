"""Arguments that don't fit as they are: made to fit where the value is certain, else every issue found.

The slow way (see `accept` for the usual one). It changes spellings, never meanings: what could be read in two ways is an issue.
"""

import re
from typing import Any, cast

import msgspec

from treadle.tools.accept import IS_TYPE, Fields, Items, Schema, Scope, branches_of, options_of, types_of
from treadle.tools.issues import Issue, expectation
from treadle.tools.names import alike
from treadle.tools.rules import tests
from treadle.tools.values import as_object, freeze, shown

_NUMBER = r"-?(?:0|[1-9][0-9]*)(?P<point>\.[0-9]+)?(?P<power>[eE][+-]?[0-9]+)?"  # compiled when first needed
_LONGEST_NUMBER = 300
_EXACT = 2**53  # whole numbers beyond it aren't certain once they were floats
_TRUTHS = {"true": True, "false": False}
_NULLS = frozenset(("null", "None"))
_NOT = object()  # no certain reading; None is one


def fit(value: Any, schema: Any, scope: Scope, path: str, issues: list[Issue]) -> Any:
    """`value` made to fit `schema`; where that isn't certain, as it is, with what is wrong added to `issues`."""
    if scope.test(schema)(value):
        return value
    keywords = as_object(schema)
    if keywords is None:
        issues.append(Issue(path, "nothing here", shown(value)))
        return value
    fitted = _converted(value, keywords)
    if fitted is _NOT:
        issues.append(Issue(path, expectation(keywords), shown(value)))
        return value
    became_null = fitted is None and value is not None
    return None if became_null else _fit_inside(fitted, keywords, scope, path, issues)


def _fit_inside(value: Any, schema: Schema, scope: Scope, path: str, issues: list[Issue]) -> Any:
    if "$ref" in schema:
        value = fit(value, scope.resolve(schema["$ref"]), scope, path, issues)
    for branch in branches_of(schema, "allOf"):
        value = fit(value, branch, scope, path, issues)
    value = _fit_branch(value, schema, "anyOf", scope, path, issues)
    value = _fit_branch(value, schema, "oneOf", scope, path, issues)
    if isinstance(value, dict):
        value = _fit_fields(cast("dict[str, Any]", value), Fields(schema), scope, path, issues)
    elif isinstance(value, list):
        items = Items(schema)
        value = [fit(item, items.at(at), scope, f"{path}[{at}]", issues) for at, item in enumerate(cast("list[Any]", value))]
    if "not" in schema and scope.test(schema["not"])(value):
        issues.append(Issue(path, f"anything but {expectation(schema['not'])}", shown(value)))
    issues += [Issue(path, words, shown(value)) for test, words in tests(schema) if not test(value)]
    return value


# Objects


def _fit_fields(value: dict[str, Any], fields: Fields, scope: Scope, path: str, issues: list[Issue]) -> dict[str, Any]:
    fitted: dict[str, Any] = {}
    for name, inner in value.items():
        where = f"{path}.{name}" if path else name
        schemas = fields.schemas(name)
        if schemas == [False] and name not in fields.properties:
            issues.append(Issue(where, _unknown(name, fields, value), shown(inner)))
            continue
        for schema in schemas:
            inner = fit(inner, schema, scope, where, issues)
        fitted[name] = inner
    for name in fields.required:
        if name not in value:
            where = f"{path}.{name}" if path else name
            issues.append(Issue(where, expectation(fields.properties.get(name, True)), "nothing"))
    return fitted


def _unknown(name: str, fields: Fields, value: dict[str, Any]) -> str:
    """What to expect in place of a field that isn't there: the nearest one that wasn't given, else all there are."""
    free = [known for known in fields.properties if known not in value]
    near = alike(name, free)
    if near:
        return f'nothing of this name (did you mean "{near[0]}"?)'
    return f"nothing of this name (only {', '.join(fields.properties)})" if fields.properties else "nothing of this name"


# Branches


def _fit_branch(value: Any, schema: Schema, keyword: str, scope: Scope, path: str, issues: list[Issue]) -> Any:
    """The value as it is where a branch takes it, else as the only branch reads it that has a reading of it."""
    branches = branches_of(schema, keyword)
    taking = sum([scope.test(branch)(value) for branch in branches])
    if not branches or taking == 1 or (taking and keyword == "anyOf"):
        return value
    if taking:
        issues.append(Issue(path, f"only one of {expectation(schema)}", shown(value)))
        return value
    readings: list[Any] = []
    failures: list[list[Issue]] = []
    for branch in branches:
        found: list[Issue] = []
        reading = fit(value, branch, scope, path, found)
        failures.append(found)
        if not found and scope.test(branch)(reading):
            readings.append(reading)
    if len({freeze(reading) for reading in readings}) == 1:
        return readings[0]
    issues += _closest(failures, path) or [Issue(path, expectation(schema), shown(value))]
    return value


def _closest(failures: list[list[Issue]], path: str) -> list[Issue]:
    """The issues of the one branch that took the value for what it is and failed further in."""
    inner = [found for found in failures if found and all(issue.path != path for issue in found)]
    return inner[0] if len(inner) == 1 else []


# Certain readings


def _converted(value: Any, schema: Schema) -> Any:
    options = options_of(schema)
    if options is not None:
        return _option(value, options)
    types = types_of(schema)
    if schema.get("nullable") is True and types:
        types = [*types, "null"]
    if not types or any(IS_TYPE[name](value) for name in types):
        return value
    readings = [reading for name in types if (reading := _as_type(value, name)) is not _NOT]
    return readings[0] if len({freeze(reading) for reading in readings}) == 1 else _NOT


def _option(value: Any, options: list[Any]) -> Any:
    """The one option that is spelled like the value, but for case and quotes."""
    if any(freeze(option) == freeze(value) for option in options):
        return value
    spelled = _spelled(value) if type(value) in (str, int) else None
    same = [option for option in options if spelled is not None and _spelled(option) == spelled]
    return same[0] if len(same) == 1 else _NOT


def _spelled(value: Any) -> str | None:
    match value:
        case str():
            return value.strip().casefold()
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case _:
            return None


def _as_type(value: Any, name: str) -> Any:
    match value:
        case str():
            return _text_as(value, name)
        case bool():
            return _NOT
        case int() if name == "string":
            return str(value)
        case float() if name == "integer":
            return _whole(value)
        case _:
            return _NOT


def _text_as(text: str, name: str) -> Any:
    match name:
        case "integer" | "number":
            number = _number(text.strip())
            return _whole(number) if name == "integer" else number
        case "boolean":
            return _TRUTHS.get(text.strip().lower(), _NOT)
        case "null":
            return None if text.strip() in _NULLS else _NOT
        case _:
            return _decoded(text, dict if name == "object" else list)  # text that should be text is never asked


def _number(text: str) -> Any:
    match = re.fullmatch(_NUMBER, text) if len(text) <= _LONGEST_NUMBER else None
    if match is None:
        return _NOT
    if match["point"] is None and match["power"] is None:
        return int(text)
    number = float(text)
    return number if IS_TYPE["number"](number) else _NOT


def _whole(number: Any) -> Any:
    if type(number) is float:
        return int(number) if number.is_integer() and abs(number) < _EXACT else _NOT
    return number


def _decoded(text: str, kind: type) -> Any:
    """An object or list that was encoded once too often."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _NOT
    return value if type(value) is kind else _NOT
