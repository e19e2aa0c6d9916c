"""Figures about the calls of every assistant and agent, for whichever face asks: words for times become moments here."""

import re
from datetime import date, datetime, time, timedelta

from treadle.app.home import Home
from treadle.core.errors import SettingsError
from treadle.stores.stats.store import DatabaseStats

_AGO = re.compile(r"(\d{1,4})([hdw])")


def stats_of(home: Home) -> DatabaseStats:
    """The figures of a home."""
    return DatabaseStats(home.database)


def moment(words: str, now: float, *, end: bool = False) -> float | None:
    """What a person calls a time, as seconds since 1970; None where they say nothing.

    `24h` is that long ago. `7d` is the beginning of the day six days ago, so that today is the seventh; `2w` is `14d`. A date is
    the day's beginning, or its `end`. All in the time of this place, unless a time says its own zone.
    """
    if not words:
        return None
    try:
        ago = _AGO.fullmatch(words)
        return _ago(int(ago[1]), ago[2], now) if ago else _dated(words, end)
    except (ValueError, OverflowError, OSError) as error:
        raise SettingsError(f"{words!r} is no time; write it as 7d, 24h, 2w, 2026-11-01 or 2026-11-01T14:30.") from error


def _ago(number: int, unit: str, now: float) -> float:
    if unit == "h":
        return now - 3600 * number
    days = number * 7 if unit == "w" else number
    return _midnight(datetime.fromtimestamp(now).date() - timedelta(days=days - 1))


def _dated(words: str, end: bool) -> float:
    try:
        day = date.fromisoformat(words)
    except ValueError:
        return datetime.fromisoformat(words).timestamp()
    return _midnight(day + timedelta(days=1) if end else day)


def _midnight(day: date) -> float:
    return datetime.combine(day, time()).timestamp()
