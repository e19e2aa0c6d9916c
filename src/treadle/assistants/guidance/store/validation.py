"""Validation of values before they are stored: short checks, each with its error message. Pure.

Msgspec's constructors don't check types; `validate_value` does, for whatever is about to be written.
"""

from collections.abc import Iterable, Sized
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from treadle.assistants.guidance.store.errors import InvalidValue

MAX_NAME = 200  # characters
MAX_TEXT = 100_000
MAX_MESSAGE = 1_000_000
MAX_ITEMS = 500

Value = TypeVar("Value", bound=Struct)


def check_text(what: str, value: object, most: int = MAX_TEXT) -> None:
    """Check that a text can be stored by every database."""
    if not isinstance(value, str):
        raise InvalidValue(f"The {what} has to be text, not {type(value).__name__}.")
    if len(value) > most:
        raise InvalidValue(f"The {what} has {len(value):,} characters; it may have {most:,}.")
    if not is_storable_text(value):
        raise InvalidValue(
            f"The {what} holds characters that aren't text; leave out null characters and halves of surrogate pairs."
        )


def is_storable_text(value: str) -> bool:
    """Return whether every database accepts these characters."""
    return "\0" not in value and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


def check_name(what: str, value: object) -> None:
    """Check that a text is short and not empty."""
    check_text(what, value, MAX_NAME)
    if not str(value).strip():
        raise InvalidValue(f"The {what} is empty; give one.")


def check_choice(what: str, value: object, allowed: tuple[str, ...]) -> None:
    """Check that a value is one of a few words."""
    if value not in allowed:
        raise InvalidValue(f"The {what} is {value!r}; it can be {', '.join(allowed[:-1])} or {allowed[-1]}.")


def check_item_count(what: str, values: Sized) -> None:
    """Check that there aren't too many values."""
    if len(values) > MAX_ITEMS:
        raise InvalidValue(f"There are {len(values):,} {what}; there may be {MAX_ITEMS}.")


def check_unique_names(what: str, names: Iterable[str]) -> None:
    """Check that no name occurs twice, ignoring case and surrounding spaces."""
    seen: set[str] = set()
    for each in names:
        known = each.strip().casefold()
        if known in seen:
            raise InvalidValue(f"Two {what} are called {each!r}; each needs a name of its own.")
        seen.add(known)


def validate_value(value: Value) -> Value:
    """Return the value as it would be read back, if all of it can be stored."""
    kind = type(value)
    try:
        written = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"This {type_words(kind)} can't be written as JSON ({error}).") from error
    return value_from_json(msgspec.json.decode(written), kind)


def value_from_json(value: Any, kind: type[Value]) -> Value:
    """Return a value of this type from plain JSON values."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, InvalidValue):
            raise error.__cause__ from error
        raise InvalidValue(f"This is no {type_words(kind)}: {error}.") from error


def type_words(kind: type[Struct]) -> str:
    """Return the type's name in words: `problem spec`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind.__name__).strip()
