"""What a value must be to be kept: short tests, each with its sentence. Pure.

Constructors of msgspec don't look at types; `checked` does, for whatever is about to be written.
"""

from collections.abc import Iterable, Sized
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from treadle.assistants.guidance.store.errors import BadValue

MOST_NAME = 200  # characters
MOST_TEXT = 100_000
MOST_SAID = 1_000_000
MOST_LISTED = 500

Value = TypeVar("Value", bound=Struct)


def text(what: str, value: object, most: int = MOST_TEXT) -> None:
    """A text that every database can keep."""
    if not isinstance(value, str):
        raise BadValue(f"The {what} has to be text, not {type(value).__name__}.")
    if len(value) > most:
        raise BadValue(f"The {what} has {len(value):,} characters; it may have {most:,}.")
    if not sound(value):
        raise BadValue(f"The {what} holds characters that aren't text; leave out null characters and halves of surrogate pairs.")


def sound(value: str) -> bool:
    """Whether every database takes these characters."""
    return "\0" not in value and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


def name(what: str, value: object) -> None:
    """A short text with something in it."""
    text(what, value, MOST_NAME)
    if not str(value).strip():
        raise BadValue(f"The {what} is empty; give one.")


def one_of(what: str, value: object, allowed: tuple[str, ...]) -> None:
    """One of a few words."""
    if value not in allowed:
        raise BadValue(f"The {what} is {value!r}; it can be {', '.join(allowed[:-1])} or {allowed[-1]}.")


def few(what: str, values: Sized) -> None:
    """Not too many of them."""
    if len(values) > MOST_LISTED:
        raise BadValue(f"There are {len(values):,} {what}; there may be {MOST_LISTED}.")


def different(what: str, names: Iterable[str]) -> None:
    """No name is there twice; capitals and spaces around it don't make another."""
    seen: set[str] = set()
    for each in names:
        known = each.strip().casefold()
        if known in seen:
            raise BadValue(f"Two {what} are called {each!r}; each needs a name of its own.")
        seen.add(known)


def checked(value: Value) -> Value:
    """The value as it would come back, if all of it can be kept."""
    kind = type(value)
    try:
        written = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadValue(f"This {words(kind)} can't be written as JSON ({error}).") from error
    return read(msgspec.json.decode(written), kind)


def read(value: Any, kind: type[Value]) -> Value:
    """A value of this kind from plain JSON values."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, BadValue):
            raise error.__cause__ from error
        raise BadValue(f"This is no {words(kind)}: {error}.") from error


def words(kind: type[Struct]) -> str:
    """The kind's name in words: `problem spec`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind.__name__).strip()
