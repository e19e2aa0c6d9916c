"""Describes where a request differs from a recorded one. Pure: compares two plain values, returns a sentence."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, cast

MAX_SHOWN = 80  # characters of a text around the place where it differs
BEFORE = 20  # of them, those before that place

DiffPath = tuple[str, ...]  # as a person would say it: message 3 (tools), part 1 (result), content
PlainRequest = dict[str, Any]  # a request as plain values: instructions, tools, options, history, note

_ABSENT = object()


class RequestDifference(NamedTuple):
    """The first place where two values differ."""

    place: DiffPath
    recorded: Any
    asked: Any


def find_nearest_request(recorded: Sequence[PlainRequest], asked: PlainRequest) -> int:
    """Return the index of the recorded request that is most like this one."""
    return max(range(len(recorded)), key=lambda number: _similarity(recorded[number], asked))


def _similarity(recorded: PlainRequest, asked: PlainRequest) -> tuple[int, int, int]:
    common = 0
    for one, other in zip(recorded["history"], asked["history"], strict=False):
        if one != other:
            break
        common += 1
    same = sum(recorded[name] == asked[name] for name in asked)
    return common, same, -abs(len(recorded["history"]) - len(asked["history"]))


def describe_difference(recorded: PlainRequest, asked: PlainRequest) -> str:
    """Return a shortened description of the difference: where it is, the recorded value, the requested value."""
    found = _find_difference(recorded, asked, ())
    if found is None:
        return "nothing"
    one, other = _format_value(found.recorded, found.asked), _format_value(found.asked, found.recorded)
    return f"{', '.join(found.place)}: recorded {one}, asked {other}"


def _find_difference(recorded: Any, asked: Any, place: DiffPath) -> RequestDifference | None:
    if recorded == asked:
        return None
    if isinstance(recorded, dict) and isinstance(asked, dict):
        steps = _pair_fields(cast("PlainRequest", recorded), cast("PlainRequest", asked), place)
    elif isinstance(recorded, list) and isinstance(asked, list):
        steps = _pair_items(cast("list[Any]", recorded), cast("list[Any]", asked), place)
    else:
        return RequestDifference(place, recorded, asked)
    return next((found for one, other, where in steps if (found := _find_difference(one, other, where))), None)


def _pair_fields(recorded: PlainRequest, asked: PlainRequest, place: DiffPath) -> Iterator[tuple[Any, Any, DiffPath]]:
    for name in {**recorded, **asked}:
        yield recorded.get(name, _ABSENT), asked.get(name, _ABSENT), (*place, name)


def _pair_items(recorded: list[Any], asked: list[Any], place: DiffPath) -> Iterator[tuple[Any, Any, DiffPath]]:
    noun = {"history": "message", "tools": "tool", "parts": "part"}.get(place[-1], "item")
    for number, (one, other) in enumerate(zip_longest(recorded, asked, fillvalue=_ABSENT), 1):
        yield one, other, (*place[:-1], f"{noun} {number}{_describe_kind(one) or _describe_kind(other)}")


def _describe_kind(value: Any) -> str:
    """Return a message's role, a tool's name or a part's type, in brackets."""
    if not isinstance(value, dict):
        return ""
    one = cast("PlainRequest", value)
    kind = one.get("role") or one.get("part") or one.get("name")
    return f" ({kind})" if kind else ""


def _format_value(value: Any, other: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    if not isinstance(value, str):
        text = repr(value)
        return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
    start = max(0, _common_prefix(value, other) - BEFORE) if isinstance(other, str) and len(value) > MAX_SHOWN else 0
    shown = value[start : start + MAX_SHOWN]
    return repr(f"{'…' if start else ''}{shown}{'…' if start + MAX_SHOWN < len(value) else ''}")


def _common_prefix(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
