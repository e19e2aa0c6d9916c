"""Records in a tool's result: JSON objects whose fields the tool filled in, so that words in one can't pose as another.

Which record the user meant is determined by its short fields: a title, a file name, an account. Pure.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

from msgspec import Struct

from treadle.guard.text_index import join_tokens

NamePredicate = Callable[[str], bool]
Scalar: TypeAlias = str | int | float

_LONGEST_NAME = 80
_NAME = re.compile(r"[^\W\d_]{3}")


class ResultRecord(Struct, frozen=True):
    """One object: its own fields, each with all its values."""

    fields: dict[str, tuple[Scalar, ...]]

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the fields by which a user could know it."""
        for key, values in self.fields.items():
            for value in values[:1]:
                if len(values) == 1 and isinstance(value, str) and len(value) <= _LONGEST_NAME and _NAME.search(value):
                    yield key, value

    def speaks_of(self, phrase: str) -> bool:
        """Return whether one of its short fields contains a phrase, word for word."""
        wanted = join_tokens(phrase)
        return any(wanted in join_tokens(value) for value in self.texts() if len(value) <= _LONGEST_NAME)

    def texts(self) -> Iterator[str]:
        """Yield all texts in its fields."""
        return (value for _, value in self.texts_by_field())

    def texts_by_field(self) -> Iterator[tuple[str, str]]:
        """Yield all texts, with the names of their fields."""
        return ((key, value) for key, values in self.fields.items() for value in values if isinstance(value, str))


def find_text_fields(text: str) -> tuple[tuple[str, str], ...]:
    """Return all separate texts in a result, each with the name of its field, empty for one in a list; none where it isn't JSON."""
    try:
        return tuple(_iter_fields("", json.loads(text)))
    except (ValueError, RecursionError):
        return ()


def _iter_fields(name: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield name, value
        case dict():
            yield from (field for key, each in cast("dict[str, Any]", value).items() for field in _iter_fields(key, each))
        case list():
            yield from (field for each in cast("list[Any]", value) for field in _iter_fields(name, each))
        case _:
            return


def parse_records(text: str) -> tuple[ResultRecord, ...]:
    """Return all records of a result; none where it isn't JSON."""
    try:
        return tuple(_iter_records(json.loads(text)))
    except (ValueError, RecursionError):
        return ()


def _iter_records(value: Any) -> Iterator[ResultRecord]:
    match value:
        case dict():
            inner = cast("dict[str, Any]", value)
            yield ResultRecord({key: own for key, each in inner.items() if (own := _find_scalars(each))})
            for each in inner.values():
                yield from _iter_records(each)
        case list():
            for each in cast("list[Any]", value):
                yield from _iter_records(each)
        case _:
            return


def _find_scalars(value: Any) -> tuple[Scalar, ...]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple([each for each in values if isinstance(each, str | int | float) and not isinstance(each, bool)])


def select_named(records: tuple[ResultRecord, ...], names: NamePredicate, asked: tuple[str, ...]) -> list[ResultRecord]:
    """Return the records that the user named, each by a field that no other has, or by a phrase that no other mentions."""
    by_field = [
        record
        for record in records
        if any(_is_unique(record, key, value, records) for key, value in record.names() if names(value))
    ]
    by_phrase = [found[0] for phrase in asked if len(found := [record for record in records if record.speaks_of(phrase)]) == 1]
    return [*by_field, *by_phrase]


def _is_unique(record: ResultRecord, key: str, value: str, records: tuple[ResultRecord, ...]) -> bool:
    return all(other == record for other in records if other.fields.get(key) == (value,))
