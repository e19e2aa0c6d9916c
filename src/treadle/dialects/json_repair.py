"""Repairs lenient JSON where it has a single reading. Linear in the text, and never guesses what is missing.

Strict JSON is tried first and left alone; the corrections are listed in `lenient_json`. Text that ends inside a value is
reported as cut off: nothing is ever closed on the model's behalf.
"""

from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

MAX_DEPTH = 100  # levels of nesting; code that walks a value may rely on it


class JsonRead(Struct, frozen=True):
    """The value, and a description of the corrections that were needed to read it."""

    value: Any
    mended: tuple[str, ...] = ()


class JsonCutOff(Struct, frozen=True):
    """The text ends inside a value."""


class JsonUnreadable(Struct, frozen=True):
    """The text is no JSON, even with corrections; `reason` is worded for a model."""

    reason: str


JsonOutcome = JsonRead | JsonCutOff | JsonUnreadable

_TOO_DEEP = JsonUnreadable("it is nested too deeply")
_CONTAINERS = (dict, list)
_decode = msgspec.json.decode


def read_json(text: str) -> JsonOutcome:
    """Return the one value in `text`."""
    try:
        value = _decode(text)
    except RecursionError:
        return _TOO_DEEP
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _read_leniently(text)
    if len(text) > 2 * MAX_DEPTH and text.count("[") + text.count("{") > MAX_DEPTH and _is_too_deep(value):
        return _TOO_DEEP
    return JsonRead(value)


def read_object(text: str) -> JsonOutcome:
    """Return the object in `text`. Empty text and null are no arguments; an object inside a string is unwrapped."""
    outcome = read_json(text)
    if not isinstance(outcome, JsonRead):
        return outcome if text and not text.isspace() else JsonRead({})
    if type(outcome.value) is dict:
        return outcome
    if outcome.value is None:
        return JsonRead({}, (*outcome.mended, "read null as no arguments"))
    if isinstance(outcome.value, str):
        return _unwrap_string(outcome.value, outcome.mended)
    return _not_an_object(outcome.value)


def extract_json(text: str) -> Any:
    """Return the JSON value in a model's text, repaired if necessary; None if there is none."""
    for piece in (text, text[text.find("{") : text.rfind("}") + 1]):
        outcome = read_json(piece)
        if isinstance(outcome, JsonRead):
            return outcome.value
    return None


def _read_leniently(text: str) -> JsonOutcome:
    from treadle.dialects import lenient_json  # its patterns take longer to build than most runs take to never need them

    try:
        value, notes = lenient_json.read_lenient(text, MAX_DEPTH)
    except lenient_json.JsonTruncated:
        return JsonCutOff()
    except lenient_json.JsonAmbiguous as odd:
        return JsonUnreadable(str(odd))
    return JsonRead(value, notes)


def _unwrap_string(inner: str, mended: tuple[str, ...]) -> JsonOutcome:
    outcome = read_json(inner)
    match outcome:
        case JsonRead(value=dict()):
            return JsonRead(outcome.value, (*mended, "read the JSON inside a string", *outcome.mended))
        case JsonCutOff():
            return outcome
        case _:
            return _not_an_object(inner)


def _not_an_object(value: object) -> JsonUnreadable:
    kinds = {"str": "a string", "list": "a list", "bool": "true or false"}
    return JsonUnreadable(f"it should be a JSON object, and is {kinds.get(type(value).__name__, 'a number')}")


def _is_too_deep(value: object) -> bool:
    level, depth = [value], 0
    while depth < MAX_DEPTH and level:
        level = [item for node in level if type(node) in _CONTAINERS for item in _child_values(node)]
        depth += 1
    return any(type(node) in _CONTAINERS for node in level)


def _child_values(container: object) -> Iterable[object]:
    return cast("dict[str, object]", container).values() if type(container) is dict else cast("list[object]", container)
