"""What a tool returned, as text for the model: text as it is, everything else as JSON, and never an exception.

How much of it the model gets to read is the engine's business.
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
    """What a model reads of a value that a tool returned. Images and the like have a label there, and are added to `media`."""
    if isinstance(value, str):
        return sound(str.__str__(value))
    if value is None:
        return NO_RESULT
    met: list[Attachment] = []
    try:
        if type(value) is float or _holds_bytes(value):
            return _as_written(_plainer(value, (), met))
        encoded = msgspec.json.encode(value, enc_hook=partial(_simpler, met=met))
        return msgspec.json.decode(encoded) if encoded.startswith(b'"') else encoded.decode()
    except Exception:  # noqa: BLE001  whatever a foreign object does when it is looked at: the careful way
        met.clear()
        return _as_written(_plainer(value, (), met))
    finally:
        if media is not None:
            media.extend({id(each): each for each in met}.values())


def to_data(value: Any) -> Any:
    """What a tool returned as plain JSON, for code; None where it has no JSON. Images and the like have a label there."""
    if value is None or isinstance(value, str):
        return value if value is None else to_text(value)
    return json_of(to_text(value))


def json_of(text: str) -> Any:
    """The value of a JSON text; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def plain(value: Any) -> Any:
    """A Python value as the JSON value that stands for it; `TypeError` or `ValueError` where none does."""
    if isinstance(value, bytes):
        return value.decode()
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_dumped))


def sound(text: str) -> str:
    """Text that can be written as UTF-8: halves of characters are joined, or marked where the other half is missing."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _as_written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _holds_bytes(value: Any) -> bool:
    """Whether there are bytes in it, which JSON would show as base64 and a model couldn't read."""
    if value.__class__ in _SIMPLE:
        return False
    match value:
        case bytes() | bytearray() | memoryview():
            return True
        case dict():
            return any(map(_holds_bytes, cast("dict[Any, Any]", value).values()))
        case list() | tuple():
            return any(map(_holds_bytes, cast("list[Any]", value)))
        case _:
            return False


def _dumped(value: Any) -> Any:
    """A foreign object as something JSON has."""
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


def _simpler(value: Any, met: list[Attachment]) -> Any:
    if isinstance(value, Attachment):
        met.append(value)
        return value.label
    try:
        return _dumped(value)
    except TypeError:
        return _described(value)


def _described(value: Any) -> str:
    """An object in its own words, unless these are only where it lies in memory."""
    kind: str = type(value).__name__
    words = f"{kind}: {value}" if isinstance(value, BaseException) else str(value)
    return f"(a {kind}, which can't be shown as text)" if " at 0x" in words else sound(words)


# The careful way: one level at a time, whatever is in there.


def _plainer(value: Any, above: tuple[int, ...], met: list[Attachment]) -> Any:
    """A value as JSON can hold it. `above` are the containers it is in, by identity; `met` gets the media in it."""
    if value is None or isinstance(value, bool):
        return value
    if id(value) in above or len(above) > _DEEPEST:
        return "(itself again)" if id(value) in above else "(nested too deeply)"
    inside = (*above, id(value))
    match value:
        case str():
            return sound(str.__str__(value))
        case int() | float():
            return _number(value)
        case bytes() | bytearray() | memoryview():
            return _bytes(bytes(cast("bytes", value)))
        case dict():
            return {_key(key): _plainer(inner, inside, met) for key, inner in cast("dict[Any, Any]", value).items()}
        case list() | tuple() | set() | frozenset():
            return [_plainer(inner, inside, met) for inner in cast("list[Any]", value)]
        case _:
            return _plainer(_opened(value, met), inside, met)


def _opened(value: Any, met: list[Attachment]) -> Any:
    """An object that isn't JSON, as what it is made of or as its own words."""
    kind = cast("type[Any]", value.__class__)
    fields = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", None)
    try:
        if fields is not None:
            return {name: getattr(value, name, None) for name in fields}
        if hasattr(kind, "__members__"):
            return value.value
        return msgspec.to_builtins(value) if kind.__module__ in _NATIVE else _simpler(value, met)
    except Exception as error:  # noqa: BLE001  foreign code: its failure is what there is to tell
        return f"(a {kind.__name__} that can't be shown: {type(error).__name__})"


def _number(value: float) -> Any:
    if isinstance(value, int):
        return int.__int__(value) if value.bit_length() < _WIDEST else f"(a whole number of {value.bit_length()} bits)"
    return float.__float__(value) if isfinite(value) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"({len(value)} bytes, not text)"


def _key(key: Any) -> str:
    found = _plainer(key, (), [])
    return _as_written(found)
