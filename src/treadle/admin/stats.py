"""Statistics about the calls of every assistant and agent; parses what a user types as a time."""

import re
from datetime import date, datetime, time, timedelta

from treadle.core.errors import SettingsError
from treadle.home import Home
from treadle.stores.stats.store import DatabaseStats

_AGO = re.compile(r"(\d{1,4})([hdw])")


def open_stats(home: Home) -> DatabaseStats:
    """Return the statistics of a home."""
    return DatabaseStats(home.database)


def parse_moment(words: str, now: float, *, end: bool = False) -> float | None:
    """Parse a user's time as seconds since 1970; return None where it is empty.

    `24h` is that long ago. `7d` is the start of the day six days ago, so that today is the seventh; `2w` is `14d`. A
    date is the day's start, or its `end`. All in local time, unless a time has its own zone.
    """
    if not words:
        return None
    try:
        ago = _AGO.fullmatch(words)
        return _parse_ago(int(ago[1]), ago[2], now) if ago else _parse_date(words, end)
    except (ValueError, OverflowError, OSError) as error:
        raise SettingsError(f"{words!r} isn't a time; write it as 7d, 24h, 2w, 2026-11-01 or 2026-11-01T14:30.") from error


def _parse_ago(number: int, unit: str, now: float) -> float:
    if unit == "h":
        return now - 3600 * number
    days = number * 7 if unit == "w" else number
    return _midnight(datetime.fromtimestamp(now).date() - timedelta(days=days - 1))


def _parse_date(words: str, end: bool) -> float:
    try:
        day = date.fromisoformat(words)
    except ValueError:
        return datetime.fromisoformat(words).timestamp()
    return _midnight(day + timedelta(days=1) if end else day)


def _midnight(day: date) -> float:
    return datetime.combine(day, time()).timestamp()
