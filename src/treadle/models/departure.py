"""Where a request departs from a recorded one, in words. Pure: two plain values in, a sentence out."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, cast

SHOWN = 80  # characters of a text around the place where it differs
BEFORE = 20  # of them, those before that place

Place = tuple[str, ...]  # as a person would say it: message 3 (tools), part 1 (result), content
Asked = dict[str, Any]  # a request as plain values: instructions, tools, options, history, note

_ABSENT = object()


class Difference(NamedTuple):
    """The first place where two values differ."""

    place: Place
    recorded: Any
    asked: Any


def nearest(recorded: Sequence[Asked], asked: Asked) -> int:
    """Which of the recorded requests is most like this one."""
    return max(range(len(recorded)), key=lambda number: _likeness(recorded[number], asked))


def _likeness(recorded: Asked, asked: Asked) -> tuple[int, int, int]:
    common = 0
    for one, other in zip(recorded["history"], asked["history"], strict=False):
        if one != other:
            break
        common += 1
    same = sum(recorded[name] == asked[name] for name in asked)
    return common, same, -abs(len(recorded["history"]) - len(asked["history"]))


def departure(recorded: Asked, asked: Asked) -> str:
    """What is different, shortened: where, what was recorded, what was asked."""
    found = _difference(recorded, asked, ())
    if found is None:
        return "nothing"
    one, other = _shown(found.recorded, found.asked), _shown(found.asked, found.recorded)
    return f"{', '.join(found.place)}: recorded {one}, asked {other}"


def _difference(recorded: Any, asked: Any, place: Place) -> Difference | None:
    if recorded == asked:
        return None
    if isinstance(recorded, dict) and isinstance(asked, dict):
        steps = _fields(cast("Asked", recorded), cast("Asked", asked), place)
    elif isinstance(recorded, list) and isinstance(asked, list):
        steps = _items(cast("list[Any]", recorded), cast("list[Any]", asked), place)
    else:
        return Difference(place, recorded, asked)
    return next((found for one, other, where in steps if (found := _difference(one, other, where))), None)


def _fields(recorded: Asked, asked: Asked, place: Place) -> Iterator[tuple[Any, Any, Place]]:
    for name in {**recorded, **asked}:
        yield recorded.get(name, _ABSENT), asked.get(name, _ABSENT), (*place, name)


def _items(recorded: list[Any], asked: list[Any], place: Place) -> Iterator[tuple[Any, Any, Place]]:
    noun = {"history": "message", "tools": "tool", "parts": "part"}.get(place[-1], "item")
    for number, (one, other) in enumerate(zip_longest(recorded, asked, fillvalue=_ABSENT), 1):
        yield one, other, (*place[:-1], f"{noun} {number}{_kind(one) or _kind(other)}")


def _kind(value: Any) -> str:
    """Whose message, which tool, what kind of part; in brackets."""
    if not isinstance(value, dict):
        return ""
    one = cast("Asked", value)
    kind = one.get("role") or one.get("part") or one.get("name")
    return f" ({kind})" if kind else ""


def _shown(value: Any, other: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    if not isinstance(value, str):
        text = repr(value)
        return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    start = max(0, _same(value, other) - BEFORE) if isinstance(other, str) and len(value) > SHOWN else 0
    shown = value[start : start + SHOWN]
    return repr(f"{'…' if start else ''}{shown}{'…' if start + SHOWN < len(value) else ''}")


def _same(one: str, other: str) -> int:
    """How many characters two texts have in common at the beginning."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
