"""What the raw texts of a call's parameters mean: typed by the tool's schema, or by what the format itself says of a value."""

from typing import Any, cast

from msgspec import Struct

from treadle.dialects import mend
from treadle.dialects.forms import Offer
from treadle.dialects.typed import kinds_of, resolved, value_of, values_of

_Schema = dict[str, Any]

WRAPPERS = ("arguments", "parameters", "properties", "input", "args")  # parameters in which all arguments are wrapped


class Raw(Struct, frozen=True):
    """A value as it was written. `string` is what its tag says of it, if it does; `quoted` that strings may stand in quotes."""

    text: str
    string: bool | None = None
    quoted: bool = False


def arguments_of(given: dict[str, list[Raw]], name: str, offer: Offer) -> dict[str, Any]:
    """The arguments of a call. Without tools there are no types, and values stay text."""
    properties, root = offer.properties(name), offer.schema(name)
    arguments = {key: _value(raws, _schema_of(key, properties), root, plain=offer.empty) for key, raws in given.items()}
    return _unwrapped(arguments, properties)


def lacks(arguments: dict[str, Any], name: str, offer: Offer) -> bool:
    """Whether an argument is missing that the tool needs."""
    return any(key not in arguments for key in offer.schema(name).get("required") or ())


def _schema_of(key: str, properties: dict[str, Any]) -> _Schema:
    schema = properties.get(key)
    return cast("_Schema", schema) if isinstance(schema, dict) else {}


def _value(raws: list[Raw], schema: _Schema, root: _Schema, *, plain: bool) -> Any:
    """What was given for one parameter: of several values the last, or all where it is a list."""
    raw, kinds = raws[-1], kinds_of(resolved(schema, root), root)
    if raw.string is not None and not (kinds and not (raw.string and "string" in kinds)):
        return raw.text if raw.string else _json_or_text(raw.text)
    if plain:
        return raw.text
    if len(raws) > 1 and "array" in kinds:
        return values_of([raw.text for raw in raws], schema, root)
    return value_of(_spelled_out(raw, kinds), schema, root)


def _json_or_text(text: str) -> Any:
    outcome = mend.read_json(text)
    return outcome.value if isinstance(outcome, mend.Read) else text


def _spelled_out(raw: Raw, kinds: list[str]) -> str:
    r"""The text without the quotes around a string, or the escapes of JSON that stands in no string: `[\"a\"]`."""
    text = raw.text.strip()
    if raw.quoted and "string" in kinds and len(text) > 1 and text[0] == text[-1] == '"':
        inner = _json_or_text(text)
        return inner if isinstance(inner, str) else raw.text
    if text[:1] in {"[", "{"} and '\\"' in text and not isinstance(mend.read_json(text), mend.Read):
        inner = _json_or_text(f'"{text}"')
        return inner if isinstance(mend.read_json(inner), mend.Read) else raw.text
    return raw.text


def _unwrapped(arguments: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    """The arguments themselves, where the only one is a parameter that the tool doesn't have and holds those it has."""
    key, value = next(iter(arguments.items()), ("", None))
    if len(arguments) != 1 or key not in WRAPPERS or key in properties:
        return arguments
    outcome = mend.read_object(value) if isinstance(value, str) else mend.Read(value)
    inner = outcome.value if isinstance(outcome, mend.Read) else None
    if isinstance(inner, dict) and inner and inner.keys() <= properties.keys():
        return cast("dict[str, Any]", inner)
    return arguments
