"""Clocks: the system's, and one that stands still until it is moved; and the timestamp format."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> datetime:
        """Return the time, with its zone."""
        ...


class SystemClock:
    """The system clock."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that is set by hand, for tests."""

    def __init__(self, at: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)) -> None:
        self._at = at

    def now(self) -> datetime:
        """Return the time it was set to."""
        return self._at

    def forward(self, **much: float) -> None:
        """Advance the time: `forward(hours=3)`."""
        self._at += timedelta(**much)


def format_timestamp(at: datetime) -> str:
    """Format a timestamp as stored and shown. Timestamps sort as text."""
    return at.astimezone(UTC).strftime(_FORM)


def parse_timestamp(text: str) -> datetime:
    """Parse a timestamp."""
    return datetime.strptime(text, _FORM).replace(tzinfo=UTC)


def elapsed_milliseconds(began: str | None, ended: str | None) -> int | None:
    """Return the time between two timestamps; None if one of them is missing."""
    return None if not began or not ended else round((parse_timestamp(ended) - parse_timestamp(began)).total_seconds() * 1000)
