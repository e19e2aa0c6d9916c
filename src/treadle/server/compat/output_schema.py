"""Check the JSON schema that an answer has to fit, before a model is called and paid for an impossible one.

Tools are more lenient (`tools.accept`): there an invalid keyword is ignored.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from treadle.core.errors import BadTool
from treadle.server.compat.errors import CompatError
from treadle.tools.validate import Validator
from treadle.tools.values import as_list, as_object

JSON_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

_MAPS = ("properties", "patternProperties", "$defs", "definitions")  # of schemas, by names
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")  # of schemas
_PARTS = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")  # schemas
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "multipleOf")


def check_output_schema(schema: dict[str, Any], param: str) -> dict[str, Any]:
    """Return the schema; raise 400 with a sentence where it is invalid."""
    wrong = next(_find_problems(schema), None)
    if wrong is not None:
        raise CompatError(400, f"This schema makes no sense: {wrong}.", param)
    try:
        Validator(schema)
    except BadTool as error:
        raise CompatError(400, "This schema is nested too deeply; name its parts under `$defs`.", param) from error
    return schema


def _find_problems(root: dict[str, Any]) -> Iterator[str]:
    """Yield the problems of a schema, with their locations."""
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        where, part = waiting.pop()
        keywords = as_object(part)
        if keywords is None and not isinstance(part, bool):
            yield f"{where} has to be a schema"
        inside = f"{where}." if where else ""
        yield from [f"{inside}{words}" for words in _find_problems_in(keywords or {}, root)]
        waiting += [(f"{inside}{name}", inner) for name, inner in _subschemas(keywords or {})]


def _find_problems_in(keywords: Mapping[str, Any], root: dict[str, Any]) -> Iterator[str]:
    for name, value in keywords.items():
        if name in _RULES and not _RULES[name](value):
            yield f"{name} can't be {_format_value(value)}"
    if "$ref" in keywords and not _resolves(root, keywords):
        yield f"$ref leads nowhere: {_format_value(keywords['$ref'])}"


def _subschemas(keywords: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _MAPS:
        yield from [(f"{name}.{key}", inner) for key, inner in (as_object(keywords.get(name)) or {}).items()]
    for name in (*_LISTS, *_PARTS):
        several = as_list(keywords.get(name))
        if several is not None:
            yield from [(f"{name}[{at}]", inner) for at, inner in enumerate(several)]
        elif name in keywords:
            yield name, keywords[name]


def _resolves(root: dict[str, Any], keywords: Mapping[str, Any]) -> bool:
    """Whether a reference within the schema resolves to a part of it, and not only to further references in a cycle."""
    seen: set[str] = set()
    found: Any = keywords
    while (following := as_object(found)) is not None and "$ref" in following:
        reference = following["$ref"]
        if not isinstance(reference, str) or reference in seen:
            return False
        if not reference.startswith("#"):
            return True  # elsewhere, where it isn't looked up
        seen.add(reference)
        found = _resolve_reference(root, reference)
    return found is not None


def _resolve_reference(root: dict[str, Any], reference: str) -> Any:
    found: Any = root
    for step in reference.split("/")[1:]:
        name, several = step.replace("~1", "/").replace("~0", "~"), as_list(found)
        if several is not None:
            found = several[int(name)] if name.isdecimal() and int(name) < len(several) else None
        else:
            found = (as_object(found) or {}).get(name)
    return found


def _format_value(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list like this" if isinstance(value, list) else "an object"
    words = repr(value)
    return words if len(words) <= 40 else f"{words[:40]}…"


def _is_type(value: Any) -> bool:
    several = as_list(value)
    return bool(several) and all(each in JSON_TYPES for each in several) if several is not None else value in JSON_TYPES


def _is_map(value: Any) -> bool:
    return as_object(value) is not None


def _is_nonempty_list(value: Any) -> bool:
    return bool(as_list(value))


def _is_string_list(value: Any) -> bool:
    several = as_list(value)
    return several is not None and all(isinstance(each, str) for each in several)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_RULES: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "required": _is_string_list,
    "enum": _is_nonempty_list,
    "pattern": _is_text,
    **dict.fromkeys(_MAPS, _is_map),
    **dict.fromkeys(_LISTS, _is_nonempty_list),
    **dict.fromkeys(_COUNTS, _is_count),
    **dict.fromkeys(_NUMBERS, _is_number),
}
