r"""Almost-JSON made JSON, where there is one reading of it. Linear in the text, and never a guess about what is missing.

Strict JSON comes first and is left alone; what is put right otherwise is listed in `almost`. Text that ends inside a value is
cut off: nothing is ever closed on the model's behalf.
"""

from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

DEEPEST = 100  # levels of nesting; nobody means more, and whoever walks a value may rely on it


class Read(Struct, frozen=True):
    """The value, and in plain words what was put right to get at it."""

    value: Any
    mended: tuple[str, ...] = ()


class CutOff(Struct, frozen=True):
    """The text ends in the middle of a value."""


class Unreadable(Struct, frozen=True):
    """No JSON, however mended; `reason` is worded for a model."""

    reason: str


Outcome = Read | CutOff | Unreadable

_TOO_DEEP = Unreadable("it is nested too deeply")
_CONTAINERS = (dict, list)
_decode = msgspec.json.decode


def read_json(text: str) -> Outcome:
    """The one value that `text` holds."""
    try:
        value = _decode(text)
    except RecursionError:
        return _TOO_DEEP
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _read_almost(text)
    if len(text) > 2 * DEEPEST and text.count("[") + text.count("{") > DEEPEST and _too_deep(value):
        return _TOO_DEEP
    return Read(value)


def read_object(text: str) -> Outcome:
    """The object that `text` holds. No text is no arguments, and so is null; an object inside a string is taken out of it."""
    outcome = read_json(text)
    if not isinstance(outcome, Read):
        return outcome if text and not text.isspace() else Read({})
    if type(outcome.value) is dict:
        return outcome
    if outcome.value is None:
        return Read({}, (*outcome.mended, "read null as no arguments"))
    if isinstance(outcome.value, str):
        return _unwrapped(outcome.value, outcome.mended)
    return _no_object(outcome.value)


def json_in(text: str) -> Any:
    """The JSON value in a model's words, mended where it is almost one; None where there is none."""
    for piece in (text, text[text.find("{") : text.rfind("}") + 1]):
        outcome = read_json(piece)
        if isinstance(outcome, Read):
            return outcome.value
    return None


def _read_almost(text: str) -> Outcome:
    from treadle.dialects import almost  # its patterns take longer to build than most runs take to never need them

    try:
        value, notes = almost.read(text, DEEPEST)
    except almost.Ended:
        return CutOff()
    except almost.Odd as odd:
        return Unreadable(str(odd))
    return Read(value, notes)


def _unwrapped(inner: str, mended: tuple[str, ...]) -> Outcome:
    outcome = read_json(inner)
    match outcome:
        case Read(value=dict()):
            return Read(outcome.value, (*mended, "read the JSON inside a string", *outcome.mended))
        case CutOff():
            return outcome
        case _:
            return _no_object(inner)


def _no_object(value: object) -> Unreadable:
    kinds = {"str": "a string", "list": "a list", "bool": "true or false"}
    return Unreadable(f"it should be a JSON object, and is {kinds.get(type(value).__name__, 'a number')}")


def _too_deep(value: object) -> bool:
    level, depth = [value], 0
    while depth < DEEPEST and level:
        level = [item for node in level if type(node) in _CONTAINERS for item in _items(node)]
        depth += 1
    return any(type(node) in _CONTAINERS for node in level)


def _items(container: object) -> Iterable[object]:
    return cast("dict[str, object]", container).values() if type(container) is dict else cast("list[object]", container)
