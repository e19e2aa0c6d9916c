"""What time it is, as a seam: the system's clock, and one that stands still until it is moved. And how times are written."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The time, with its zone."""
        ...


class SystemClock:
    """The time of this machine."""

    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.now(UTC)


class SetClock:
    """A time that is set, for whoever can't wait."""

    def __init__(self, at: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)) -> None:
        self._at = at

    def now(self) -> datetime:
        """The time it was set to."""
        return self._at

    def forward(self, **much: float) -> None:
        """Let time pass: `forward(hours=3)`."""
        self._at += timedelta(**much)


def stamp(at: datetime) -> str:
    """A time as it is kept and shown. Times in this form are in order where their texts are."""
    return at.astimezone(UTC).strftime(_FORM)


def moment(text: str) -> datetime:
    """The time of a stamp."""
    return datetime.strptime(text, _FORM).replace(tzinfo=UTC)


def milliseconds(began: str | None, ended: str | None) -> int | None:
    """How long it was between two stamps; None where one of them isn't there yet."""
    return None if not began or not ended else round((moment(ended) - moment(began)).total_seconds() * 1000)
