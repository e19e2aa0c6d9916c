"""What was looked up since the user's last message, and how a small model reads it. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from treadle.core.calls import Result
from treadle.core.messages import Message

_NOISE = frozenset(("id", "version", "links", "metadata"))  # what says nothing to a reader


def last_turn(history: Iterable[Message]) -> tuple[str, list[Result]]:
    """Return the last user message, and the results of calls since then."""
    message = ""
    results: list[Result] = []
    for each in history:
        if each.role == "person":
            message, results = each.text, []
        results += [part for part in each.parts if isinstance(part, Result)]
    return message, results


def format_result_lines(result: Result) -> str:
    """Return a call's result as plain lines: fewer tokens than JSON, and easier to read. Text stays as it is."""
    data: Any = result.data
    return "\n".join(_format_lines(data, "")) if isinstance(data, dict | list) else result.content


def _format_lines(value: Any, indent: str) -> Iterator[str]:
    match value:
        case dict():
            for key, each in _relevant_fields(value):
                if isinstance(each, dict | list):
                    yield f"{indent}{key}:"
                    yield from _format_lines(each, f"{indent}  ")
                else:
                    yield f"{indent}{key}: {each}"
        case list():
            for each in cast("list[Any]", value):
                yield f"{indent}- {_format_line(each)}"
        case _:
            yield f"{indent}{value}"


def _format_line(value: Any) -> str:
    """Format an item of a list in one line."""
    match value:
        case dict():
            return "; ".join([f"{key}: {_format_line(each)}" for key, each in _relevant_fields(value)])
        case list():
            return ", ".join([_format_line(each) for each in cast("list[Any]", value)])
        case _:
            return str(value)


def _relevant_fields(value: Any) -> list[tuple[str, Any]]:
    fields = cast("dict[str, Any]", value).items()
    return [(key, each) for key, each in fields if key not in _NOISE and each not in (None, "", [], {})]
