"""What is wrong with the arguments of a call, in words for the model that wrote them.

An issue is a value; whether there is one is `fit`, what happens then is the engine's business.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from treadle.tools.values import as_list, as_object, shortened

MOST = 100
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


class Issue(Struct, frozen=True):
    """One field that doesn't fit: where it is, what was expected there, and what came."""

    path: str
    expected: str
    got: str


def word(issues: Sequence[Issue], tool_name: str) -> str:
    """A problem that names every field, what was expected and what came."""
    lines = [f"- {issue.path or 'arguments'}: expected {issue.expected}; got {issue.got}" for issue in issues[:MOST]]
    if len(issues) > MOST:
        lines.append(f"- and {len(issues) - MOST} more like these")
    listed = "\n".join(lines)
    return f"The arguments don't fit {tool_name}, so it was not run:\n{listed}\nCall {tool_name} again with these put right."


def expectation(schema: Any, depth: int = 0) -> str:
    """What a schema asks for, in a few words."""
    keywords = as_object(schema)
    if keywords is None or depth > _DEPTH:
        return "any value"
    for keyword, words in (("enum", _one_of), ("const", _exactly), ("type", _typed), ("anyOf", _either), ("oneOf", _either)):
        if keyword in keywords:
            return words(keywords, keywords[keyword], depth)
    return "an object" if "$ref" in keywords or "properties" in keywords else "any value"


def _one_of(_: dict[str, Any], options: Any, __: int) -> str:
    return f"one of {', '.join(map(quoted, as_list(options) or []))}"


def _exactly(_: dict[str, Any], option: Any, __: int) -> str:
    return quoted(option)


def _typed(schema: dict[str, Any], types: Any, depth: int) -> str:
    return _or(_of_type(name, schema, depth) for name in as_list(types) or [types])


def _of_type(name: Any, schema: dict[str, Any], depth: int) -> str:
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


def _either(_: dict[str, Any], branches: Any, depth: int) -> str:
    return _or(expectation(branch, depth + 1) for branch in as_list(branches) or [])


def _or(words: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(words)) or "any value"


def quoted(value: Any) -> str:
    """A value as it would be written in JSON, where it is short."""
    match value:
        case str():
            return f'"{shortened(value)}"'
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case _:
            return shortened(str(value))
