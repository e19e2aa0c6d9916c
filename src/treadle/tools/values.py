"""JSON values: telling whether two are the same, and showing one in a few words.

Nothing here knows schemas; it is what validation, conversion and wording have in common.
"""

from collections.abc import Hashable
from typing import Any, cast

LONGEST = 60
_SIMPLE = frozenset((str, int, float, type(None)))


def as_object(value: Any) -> dict[str, Any] | None:
    """The value, if it is an object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """The value, if it is a list."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def freeze(value: Any) -> Hashable:
    """A stand-in that is equal for equal JSON values: `1` and `1.0` are, `1` and `true` are not."""
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


def shown(value: Any) -> str:
    """A JSON value in a few words, for a model that wrote it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'the text "{shortened(value)}"'
        case dict():
            return _object_shown(cast("dict[str, Any]", value))
        case list():
            return f"a list of {len(cast('list[Any]', value))}"
        case _:
            return _number_shown(value)


def shortened(text: str) -> str:
    """The beginning of a long text, with its length."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _object_shown(value: dict[str, Any]) -> str:
    return f"an object with {shortened(', '.join(value))}" if value else "an empty object"


def _number_shown(value: Any) -> str:
    try:
        return shortened(str(value))
    except ValueError:  # Python refuses to write very long whole numbers out
        return "a very long number"
