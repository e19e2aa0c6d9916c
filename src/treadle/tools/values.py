"""JSON values: comparing them, and describing one in a few words.

Nothing here knows schemas; it is what validation, conversion and messages have in common.
"""

from collections.abc import Hashable
from typing import Any, cast

MAX_LENGTH = 60
_SIMPLE = frozenset((str, int, float, type(None)))


def as_object(value: Any) -> dict[str, Any] | None:
    """Return the value, if it is an object, else None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """Return the value, if it is a list, else None."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def freeze(value: Any) -> Hashable:
    """Return a hashable stand-in that is equal for equal JSON values: `1` and `1.0` are, `1` and `true` are not."""
    if value.__class__ in _SIMPLE:
        return value
    match value:
        case bool():
            return "truth", value
        case dict():
            return "object", frozenset((key, freeze(inner)) for key, inner in cast("dict[str, Any]", value).items())
        case list():
            return "list", tuple([freeze(inner) for inner in cast("list[Any]", value)])
        case _:
            return value


def format_json_value(value: Any) -> str:
    """Describe a JSON value in a few words, for the model that wrote it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'the text "{shorten_json_text(value)}"'
        case dict():
            return _format_object(cast("dict[str, Any]", value))
        case list():
            return f"a list of {len(cast('list[Any]', value))}"
        case _:
            return _format_number(value)


def shorten_json_text(text: str) -> str:
    """Return the beginning of a long text, with its length."""
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}… ({len(text)} characters)"


def _format_object(value: dict[str, Any]) -> str:
    return f"an object with {shorten_json_text(', '.join(value))}" if value else "an empty object"


def _format_number(value: Any) -> str:
    try:
        return shorten_json_text(str(value))
    except ValueError:  # Python refuses to write very long whole numbers out
        return "a very long number"
