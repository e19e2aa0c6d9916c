"""Records in what a tool returned: objects of JSON, whose fields the tool filled in, so that words in one can't pose as another.

Which record a person meant is told by its short fields: a title, a file's name, an account. Pure.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

from msgspec import Struct

from treadle.guard.words import parted

Names = Callable[[str], bool]
Scalar: TypeAlias = str | int | float

_LONGEST_NAME = 80
_NAME = re.compile(r"[^\W\d_]{3}")


class Record(Struct, frozen=True):
    """One object: its own fields, each with all its values."""

    fields: dict[str, tuple[Scalar, ...]]

    def names(self) -> Iterator[tuple[str, str]]:
        """The fields that a person could know it by."""
        for key, values in self.fields.items():
            for value in values[:1]:
                if len(values) == 1 and isinstance(value, str) and len(value) <= _LONGEST_NAME and _NAME.search(value):
                    yield key, value

    def speaks_of(self, phrase: str) -> bool:
        """Whether one of its short fields has a phrase in it, word for word."""
        wanted = parted(phrase)
        return any(wanted in parted(value) for value in self.texts() if len(value) <= _LONGEST_NAME)

    def texts(self) -> Iterator[str]:
        """All that is text in its fields."""
        return (value for _, value in self.texts_by_field())

    def texts_by_field(self) -> Iterator[tuple[str, str]]:
        """All that is text, with the names of the fields."""
        return ((key, value) for key, values in self.fields.items() for value in values if isinstance(value, str))


def items_in(text: str) -> tuple[str, ...]:
    """All texts that stand by themselves in a result: in a field, or in a list; none where it isn't JSON."""
    try:
        return tuple(_items(json.loads(text)))
    except (ValueError, RecursionError):
        return ()


def _items(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (item for each in cast("dict[str, Any]", value).values() for item in _items(each))
        case list():
            yield from (item for each in cast("list[Any]", value) for item in _items(each))
        case _:
            return


def records_in(text: str) -> tuple[Record, ...]:
    """All records of a result; none where it isn't JSON."""
    try:
        return tuple(_records(json.loads(text)))
    except (ValueError, RecursionError):
        return ()


def _records(value: Any) -> Iterator[Record]:
    match value:
        case dict():
            inner = cast("dict[str, Any]", value)
            yield Record({key: own for key, each in inner.items() if (own := _scalars(each))})
            for each in inner.values():
                yield from _records(each)
        case list():
            for each in cast("list[Any]", value):
                yield from _records(each)
        case _:
            return


def _scalars(value: Any) -> tuple[Scalar, ...]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple([each for each in values if isinstance(each, str | int | float) and not isinstance(each, bool)])


def named_in(records: tuple[Record, ...], names: Names, asked: tuple[str, ...]) -> list[Record]:
    """The records that the person named, each by a field that no other has, or by a phrase that no other speaks of."""
    by_field = [
        record for record in records if any(_own(record, key, value, records) for key, value in record.names() if names(value))
    ]
    by_phrase = [found[0] for phrase in asked if len(found := [record for record in records if record.speaks_of(phrase)]) == 1]
    return [*by_field, *by_phrase]


def _own(record: Record, key: str, value: str, records: tuple[Record, ...]) -> bool:
    return all(other == record for other in records if other.fields.get(key) == (value,))
