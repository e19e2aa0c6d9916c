"""Dates in text: `2024-05-26`, `May 26th, 2024`, `the 13th to the 17th of May`. Pure; no calendar, no clock, no guessing.

A day without a year stands for that day of any year. Ambiguous spellings (`01/02/2024`) are not dates.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = f"({'|'.join(sorted(_MONTHS, key=len, reverse=True))})\\.?"
_DAY = r"([0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+((?:19|20)\d\d)\b)?"
_TO = r"(?:\s*(?:-|–|to|until|till|through|and)\s*(?:the\s+)?)"

_ISO = re.compile(
    r"(?<![\w-])(\d{4})-(\d{2})-(\d{2})(?:(?=[T ]\d{2}:)[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?(?!\w)"
)
_MONTH_FIRST = re.compile(rf"\b{_MONTH}\s+{_DAY}(?:{_TO}{_DAY}(?!\d))?{_YEAR}(?![\d:])", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"\b{_DAY}(?:{_TO}{_DAY})?\s+(?:of\s+)?{_MONTH}(?!\w){_YEAR}", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?<![\w:.])\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\b\.?)?(?![\w:])|(?<![\w.])\d{1,2}\s*[ap]\.?m\b\.?", re.IGNORECASE
)
_TIME = re.compile(
    r"(?<![\d:.])([01]?\d|2[0-4])(?::([0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?!:?\d)(?:\s?([ap])\.?m\b)?|\s?([ap])\.?m\b)", re.IGNORECASE
)


class TimeOfDay(NamedTuple):
    """A time of day in minutes since midnight; `half` says whether it was written with am or pm."""

    start: int
    end: int
    minutes: int
    half: bool


class Day(NamedTuple):
    """A day; the year 0 is any."""

    year: int
    month: int
    day: int


def find_days(text: str) -> frozenset[Day]:
    """Return all days in a text."""
    return frozenset([day for _, _, day in locate_days(text)])


def locate_days(text: str) -> Iterator[tuple[int, int, Day]]:
    """Yield all days in a text, each with where it begins and ends; those of a range have the same place."""
    for match in _ISO.finditer(text):
        yield match.start(), match.end(), Day(int(match[1]), int(match[2]), int(match[3]))
    for match in _MONTH_FIRST.finditer(text):
        month, first, last, year = match.groups()
        yield from [(match.start(), match.end(), _make_day(year, month, day)) for day in (first, last) if day]
    for match in _DAY_FIRST.finditer(text):
        first, last, month, year = match.groups()
        yield from [(match.start(), match.end(), _make_day(year, month, day)) for day in (first, last) if day]


def locate_times(text: str) -> Iterator[TimeOfDay]:
    """Yield all times of day in a text, those of timestamps among them."""
    for match in _TIME.finditer(text):
        half = (match[3] or match[4] or "").lower()
        hour = int(match[1]) % 12 + 12 * (half == "p") if half else int(match[1])
        yield TimeOfDay(match.start(), match.end(), hour * 60 + int(match[2] or 0), bool(half))


def month_number(name: str) -> int:
    """Return the number of a month by its name or abbreviation; 0 where it is none."""
    return _MONTHS.get(name.lower(), 0)


def parse_day(value: str) -> Day | None:
    """Return the day of a value that is a date or a time on a date, and nothing else."""
    whole = _ISO.fullmatch(value.strip())
    return _parse_iso(whole) if whole else None


def is_time_of_day(value: str) -> bool:
    """Return whether a value is a time of day and nothing else."""
    return _CLOCK.fullmatch(value.strip()) is not None


def contains_day(day: Day, days: frozenset[Day]) -> bool:
    """Return whether a day is among others; one without a year counts unless the same day is there with a year."""
    if day in days:
        return True
    dated = any(other[1:] == day[1:] and other.year for other in days)
    return Day(0, day.month, day.day) in days and not dated


def strip_days(text: str) -> str:
    """Return a text without its dates and times, so that their digits aren't taken for other numbers."""
    for pattern in (_ISO, _MONTH_FIRST, _DAY_FIRST, _CLOCK):
        text = pattern.sub(" ; ", text)
    return text


def _parse_iso(match: re.Match[str]) -> Day:
    return Day(int(match[1]), int(match[2]), int(match[3]))


def _make_day(year: str | None, month: str, day: str) -> Day:
    return Day(int(year or 0), _MONTHS[month.lower()], int(day))
