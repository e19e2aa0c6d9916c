"""Validation issues of a call's arguments, and their messages for the model that wrote them.

An issue is a value; `coercion` finds it, and the engine decides what happens then.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from treadle.tools.values import as_list, as_object, shorten_json_text

MAX_ISSUES = 100
_DEPTH = 4

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_SEVERAL = {"string": "texts", "integer": "whole numbers", "number": "numbers", "object": "objects", "array": "lists"}


class ArgumentIssue(Struct, frozen=True):
    """One invalid field: its path, what was expected, and what was given."""

    path: str
    expected: str
    got: str


def format_issues(issues: Sequence[ArgumentIssue], tool_name: str) -> str:
    """Format a message that names every field, what was expected and what was given."""
    lines = [f"- {issue.path or 'arguments'}: expected {issue.expected}; got {issue.got}" for issue in issues[:MAX_ISSUES]]
    if len(issues) > MAX_ISSUES:
        lines.append(f"- and {len(issues) - MAX_ISSUES} more like these")
    listed = "\n".join(lines)
    return f"The arguments don't fit {tool_name}, so it was not run:\n{listed}\nCall {tool_name} again with these put right."


def describe_schema(schema: Any, depth: int = 0) -> str:
    """Describe a schema in a few words."""
    keywords = as_object(schema)
    if keywords is None or depth > _DEPTH:
        return "any value"
    for keyword, words in (
        ("enum", _describe_enum),
        ("const", _describe_const),
        ("type", _describe_types),
        ("anyOf", _describe_branches),
        ("oneOf", _describe_branches),
    ):
        if keyword in keywords:
            return words(keywords, keywords[keyword], depth)
    return "an object" if "$ref" in keywords or "properties" in keywords else "any value"


def _describe_enum(_: dict[str, Any], options: Any, __: int) -> str:
    return f"one of {', '.join(map(quote_json, as_list(options) or []))}"


def _describe_const(_: dict[str, Any], option: Any, __: int) -> str:
    return quote_json(option)


def _describe_types(schema: dict[str, Any], types: Any, depth: int) -> str:
    return _join_alternatives(_describe_type(name, schema, depth) for name in as_list(types) or [types])


def _describe_type(name: Any, schema: dict[str, Any], depth: int) -> str:
    match name:
        case "array":
            kind = (as_object(schema.get("items")) or {}).get("type")
            return f"a list of {_SEVERAL[kind]}" if isinstance(kind, str) and kind in _SEVERAL else "a list"
        case "object" if depth == 0 and as_list(schema.get("required")):
            return f"an object with {', '.join(map(str, schema['required']))}"
        case str():
            return _TYPES.get(name, "any value")
        case _:
            return "any value"


def _describe_branches(_: dict[str, Any], branches: Any, depth: int) -> str:
    return _join_alternatives(describe_schema(branch, depth + 1) for branch in as_list(branches) or [])


def _join_alternatives(words: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(words)) or "any value"


def quote_json(value: Any) -> str:
    """Return a value as JSON, if it is short."""
    match value:
        case str():
            return f'"{shorten_json_text(value)}"'
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case _:
            return shorten_json_text(str(value))
