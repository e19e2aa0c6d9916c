"""Converts a tool's return value to text for the model: text as it is, everything else as JSON, and never an exception.

How much of it the model gets to read is up to the engine.
"""

from collections.abc import Mapping, Sequence, Set
from functools import partial
from math import isfinite
from typing import Any, cast

import msgspec

from treadle.core.media import Attachment

NO_RESULT = "(no result)"
_DEEPEST = 100
_NATIVE = ("datetime", "decimal", "uuid")
_SIMPLE = frozenset((str, int, float, bool, type(None)))
_WIDEST = 14_000  # bits of a whole number that Python still writes out


def to_text(value: Any, media: list[Attachment] | None = None) -> str:
    """Return the text of a tool's return value for the model. Media are replaced by labels, and added to `media`."""
    if isinstance(value, str):
        return repair_surrogates(str.__str__(value))
    if value is None:
        return NO_RESULT
    met: list[Attachment] = []
    try:
        if type(value) is float or _contains_bytes(value):
            return _to_json_text(_to_encodable(value, (), met))
        encoded = msgspec.json.encode(value, enc_hook=partial(_simplify, met=met))
        return msgspec.json.decode(encoded) if encoded.startswith(b'"') else encoded.decode()
    except Exception:  # noqa: BLE001  whatever a foreign object does when it is looked at: the careful way
        met.clear()
        return _to_json_text(_to_encodable(value, (), met))
    finally:
        if media is not None:
            media.extend({id(each): each for each in met}.values())


def to_data(value: Any) -> Any:
    """Return a tool's return value as plain JSON, for code; None where it has no JSON. Media are replaced by labels."""
    if value is None or isinstance(value, str):
        return value if value is None else to_text(value)
    return try_parse_json(to_text(value))


def try_parse_json(text: str) -> Any:
    """Parse a JSON text; None where it is invalid."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def to_json_value(value: Any) -> Any:
    """Return the JSON value of a Python value. Raises `TypeError` or `ValueError` where there is none."""
    if isinstance(value, bytes):
        return value.decode()
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_dump_object))


def repair_surrogates(text: str) -> str:
    """Return text that can be encoded as UTF-8: surrogate pairs are joined, and lone surrogates replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _to_json_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _contains_bytes(value: Any) -> bool:
    """Return whether it contains bytes, which JSON would show as base64 and a model couldn't read."""
    if value.__class__ in _SIMPLE:
        return False
    match value:
        case bytes() | bytearray() | memoryview():
            return True
        case dict():
            return any(map(_contains_bytes, cast("dict[Any, Any]", value).values()))
        case list() | tuple():
            return any(map(_contains_bytes, cast("list[Any]", value)))
        case _:
            return False


def _dump_object(value: Any) -> Any:
    """Convert a foreign object to something JSON has."""
    dump = getattr(value, "model_dump", None)
    match value:
        case _ if callable(dump) and not isinstance(value, type):
            return dump(mode="json")
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case Mapping():
            return dict(cast("Mapping[Any, Any]", value).items())
        case Sequence() | Set():
            return list(cast("Sequence[Any]", value))
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON")


def _simplify(value: Any, met: list[Attachment]) -> Any:
    if isinstance(value, Attachment):
        met.append(value)
        return value.label
    try:
        return _dump_object(value)
    except TypeError:
        return _describe_object(value)


def _describe_object(value: Any) -> str:
    """Return an object's own text, unless that is only its address in memory."""
    kind: str = type(value).__name__
    words = f"{kind}: {value}" if isinstance(value, BaseException) else str(value)
    return f"(a {kind}, which can't be shown as text)" if " at 0x" in words else repair_surrogates(words)


# The careful way: one level at a time, whatever is in there.


def _to_encodable(value: Any, above: tuple[int, ...], met: list[Attachment]) -> Any:
    """Return a value as JSON can hold it. `above` are the containers it is in, by identity; `met` collects its media."""
    if value is None or isinstance(value, bool):
        return value
    if id(value) in above or len(above) > _DEEPEST:
        return "(itself again)" if id(value) in above else "(nested too deeply)"
    inside = (*above, id(value))
    match value:
        case str():
            return repair_surrogates(str.__str__(value))
        case int() | float():
            return _encodable_number(value)
        case bytes() | bytearray() | memoryview():
            return _bytes_to_text(bytes(cast("bytes", value)))
        case dict():
            return {_to_key(key): _to_encodable(inner, inside, met) for key, inner in cast("dict[Any, Any]", value).items()}
        case list() | tuple() | set() | frozenset():
            return [_to_encodable(inner, inside, met) for inner in cast("list[Any]", value)]
        case _:
            return _to_encodable(_open_object(value, met), inside, met)


def _open_object(value: Any, met: list[Attachment]) -> Any:
    """Return an object that isn't JSON as its fields or its own text."""
    kind = cast("type[Any]", value.__class__)
    fields = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", None)
    try:
        if fields is not None:
            return {name: getattr(value, name, None) for name in fields}
        if hasattr(kind, "__members__"):
            return value.value
        return msgspec.to_builtins(value) if kind.__module__ in _NATIVE else _simplify(value, met)
    except Exception as error:  # noqa: BLE001  foreign code: its failure is what there is to tell
        return f"(a {kind.__name__} that can't be shown: {type(error).__name__})"


def _encodable_number(value: float) -> Any:
    if isinstance(value, int):
        return int.__int__(value) if value.bit_length() < _WIDEST else f"(a whole number of {value.bit_length()} bits)"
    return float.__float__(value) if isfinite(value) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")


def _bytes_to_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"({len(value)} bytes, not text)"


def _to_key(key: Any) -> str:
    found = _to_encodable(key, (), [])
    return _to_json_text(found)
