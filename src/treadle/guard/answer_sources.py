"""What an answer may be made from: the texts of a conversation and the data of its results, as words, numbers and dates. Pure.

Numbers that follow from the data count too: how many items a list has, and how many of them have the same value of a field; sums
and differences of what is on one line or in one record; the time between two timestamps.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import combinations, islice
from typing import Any, cast

import msgspec

from treadle.core.calls import Call, Result
from treadle.core.messages import Message, Quote, Text
from treadle.guard.dates import Day, find_days, locate_times
from treadle.guard.numerals import LARGEST, all_numbers
from treadle.guard.text_index import normalize_text, split_tokens, stem_word

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORTEST_STEM = 4  # letters of a word that stand for it: postgres and PostgreSQL, Norway and Norwegian
_MOST_TERMS = 12  # numbers on a line whose sums are considered; of a longer one, they would cover everything
_MOST_STAMPS = 40
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?")
_BULLET = re.compile(r"^\s*(?:[-*•|]|\d+[.)])\s*\S", re.MULTILINE)


class AnswerSources:
    """Texts, and the data of results, prepared for searching. Data that is JSON text is read too."""

    def __init__(self, texts: Iterable[str], data: Iterable[Any] = ()) -> None:
        self.text = "\n".join(texts)
        self.data = [*data]

    @cached_property
    def normalized(self) -> str:
        """The texts in lower case with single spaces."""
        return normalize_text(self.text)

    @cached_property
    def joined(self) -> str:
        """The words and numbers of the texts, with a space around each."""
        return f" {' '.join(split_tokens(self.text))} "

    @cached_property
    def stated(self) -> frozenset[Decimal]:
        """The numbers of the texts."""
        return all_numbers(self.text)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """The numbers of the texts, and those that follow from the data."""
        return self.stated | self._line_sums | self._durations | self._counts

    @cached_property
    def days(self) -> frozenset[Day]:
        """The days of the texts."""
        return find_days(self.text)

    @cached_property
    def minutes(self) -> frozenset[int]:
        """The times of day, in minutes since midnight."""
        return frozenset([each.minutes for each in locate_times(self.text)])

    @cached_property
    def weekdays(self) -> frozenset[str]:
        """The weekdays of the days that have a year."""
        return frozenset([WEEKDAYS[date(*day).weekday()] for day in self.days if _is_date(day)])

    def has_word(self, word: str) -> bool:
        """Return whether a word occurs, in any inflection."""
        parts = [part for part in split_tokens(word) if len(part) > 1 or part.isdigit()]
        return self._has_kin(word.lower()) or all(map(self._has_kin, parts))

    def has_phrase(self, text: str) -> bool:
        """Return whether a text occurs as it is, or as the same words in sequence."""
        wanted = normalize_text(text)
        return wanted in self.normalized or f" {' '.join(split_tokens(text))} " in self.joined

    @cached_property
    def _tokens(self) -> frozenset[str]:
        whole = re.findall(r"[^\W_]+", self.normalized)
        return frozenset([*split_tokens(self.text), *whole])

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset([stem_word(token) for token in self._tokens])

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset([token[:end] for token in self._tokens for end in range(_SHORTEST_STEM, len(token))])

    def _has_kin(self, word: str) -> bool:
        """Return whether a word is one of the sources, has the same stem, begins with one or is the beginning of one."""
        if word in self._tokens or stem_word(word) in self._stems or word in self._beginnings:
            return True
        return any(word[:end] in self._tokens for end in range(_SHORTEST_STEM, len(word)))

    @cached_property
    def _line_sums(self) -> frozenset[Decimal]:
        groups = [all_numbers(line) for line in re.split(r"\n|(?<=[.;])\s", self.text)]
        records = [cast("dict[str, Any]", value) for value in _walk(self.data) if isinstance(value, dict)]
        groups += [frozenset(_to_numbers(record.values())) for record in records]
        pairs = [pair for group in groups if len(group) <= _MOST_TERMS for pair in combinations(group, 2)]
        return frozenset([value for one, other in pairs for value in (one + other, abs(one - other))])

    @cached_property
    def _durations(self) -> frozenset[Decimal]:
        stamps = [stamp for stamp in map(_read_stamp, islice(_STAMP.findall(self.text), _MOST_STAMPS)) if stamp is not None]
        seconds = {abs((one - other).total_seconds()) for one, other in combinations(stamps, 2)}
        return frozenset([Decimal(round(each / unit)) for each in seconds for unit in (1, 60, 3600, 86400)])

    @cached_property
    def _counts(self) -> frozenset[Decimal]:
        """How many items there are in each list, with each value of a field, and on the lines of each text; and sums of columns."""
        found: set[Decimal] = {Decimal(len(_BULLET.findall(block))) for block in re.split(r"\n\s*\n|:\n", self.text)}
        for value in _walk(self.data):
            if isinstance(value, list):
                items = cast("list[Any]", value)
                found.add(Decimal(len(items)))
                found.update(_column_values([cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]))
            elif isinstance(value, dict):
                found.add(Decimal(len(cast("dict[str, Any]", value))))
        return frozenset(found)


def sources_of(messages: Iterable[Message], instructions: str = "") -> AnswerSources:
    """Return what an answer in a conversation may be made from. What the model said before vouches for nothing."""
    texts, data = [instructions], list[Any]()
    for message in messages:
        for part in message.parts:
            if isinstance(part, Result):
                texts.append(f"{part.name} {part.problem or ''}\n{part.content}")
                data.append(part.content if part.data is None else part.data)
                texts.append("" if part.data is None else msgspec.json.encode(part.data).decode())
            elif isinstance(part, Call):
                texts.append(f"{part.name} {msgspec.json.encode(part.arguments).decode()}")
            elif isinstance(part, Text | Quote) and message.role != "model":
                texts.append(part.text)
    return AnswerSources(texts, data)


def _column_values(records: list[dict[str, Any]]) -> Iterator[Decimal]:
    """Yield how many records have the same value of a field, and the sum of each field that has numbers."""
    for key in {key for record in records for key in record}:
        values = [record[key] for record in records if key in record]
        yield from map(Decimal, Counter([str(value) for value in values if not isinstance(value, dict | list)]).values())
        yield sum(_to_numbers(values), Decimal(0))


def _walk(value: Any) -> Iterator[Any]:
    """Yield a value and everything inside of it; JSON in a text is read."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return
    yield value
    if isinstance(value, dict | list):
        inner = cast("list[Any]", value) if isinstance(value, list) else cast("dict[str, Any]", value).values()
        for each in inner:
            yield from _walk(each)


def _to_numbers(values: Iterable[Any]) -> Iterator[Decimal]:
    """Yield the numbers among some values; none that is too large to be computed with."""
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST:
            yield Decimal(str(value))


def _is_date(day: Day) -> bool:
    try:
        return day.year > 0 and bool(date(*day))
    except ValueError:
        return False


def _read_stamp(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
