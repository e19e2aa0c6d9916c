"""Where the sun and the moon are, by short series. Minutes and percents are right; an observatory needs more terms than these."""

from datetime import UTC, date, datetime, time, timedelta
from math import acos, asin, cos, degrees, radians, sin
from typing import NamedTuple

NOON = datetime(2000, 1, 1, 12, tzinfo=UTC)  # what days are counted from
GREENWICH = (51.48, 0.0)  # latitude and longitude
TILT = 23.44  # of the earth's axis, in degrees
HORIZON = -0.833  # where the sun's middle is when its upper edge is seen
QUARTERS = ("new moon", "first quarter", "full moon", "last quarter")
BETWEEN = ("waxing crescent", "waxing gibbous", "waning gibbous", "waning crescent")


class Moon(NamedTuple):
    """The moon at noon."""

    phase: str
    lit: float  # share of its disc

    def __str__(self) -> str:
        return f"{self.phase}, {self.lit:.0%} lit"


class Sun(NamedTuple):
    """When the sun rises and sets. Where it does neither, `up` says whether it is day all day long."""

    rise: datetime | None
    set: datetime | None
    up: bool

    def __str__(self) -> str:
        if self.rise is None or self.set is None:
            return "up all day" if self.up else "down all day"
        return f"rises at {self.rise:%H:%M}, sets at {self.set:%H:%M} (UTC)"


def moon_of(day: date) -> Moon:
    """The moon of a day."""
    days = _days(day)
    sun, moon, apart = 357.5291 + 0.98560028 * days, 134.9634 + 13.06499295 * days, 297.8502 + 12.19074912 * days
    angle = apart + 6.289 * _sin(moon) - 2.1 * _sin(sun) + 1.274 * _sin(2 * apart - moon) + 0.658 * _sin(2 * apart)
    angle = (angle + 0.214 * _sin(2 * moon) + 0.11 * _sin(apart)) % 360
    return Moon(_phase(angle), (1 - cos(radians(angle))) / 2)


def _phase(angle: float) -> str:
    """What the moon is called so far from the sun. A quarter has its name on the day it is nearest to."""
    quarter, past = divmod(angle + 6.1, 90)
    return QUARTERS[int(quarter) % 4] if past < 12.2 else BETWEEN[int(quarter) % 4]


def sun_of(day: date, latitude: float, longitude: float) -> Sun:
    """The sun of a day at a place."""
    days = _days(day) - longitude / 360
    mean = 357.5291 + 0.98560028 * days
    along = mean + 1.9148 * _sin(mean) + 0.02 * _sin(2 * mean) + 282.9372
    transit = NOON + timedelta(days=days + 0.0053 * _sin(mean) - 0.0069 * _sin(2 * along))
    tilt = degrees(asin(_sin(along) * _sin(TILT)))
    share = (_sin(HORIZON) - _sin(latitude) * _sin(tilt)) / max(_cos(latitude) * _cos(tilt), 1e-9)
    if abs(share) >= 1:
        return Sun(None, None, up=share < 0)
    half = timedelta(days=degrees(acos(share)) / 360)
    return Sun(transit - half, transit + half, up=True)


def _days(day: date) -> float:
    return (datetime.combine(day, time(12), UTC) - NOON) / timedelta(days=1)


def _sin(angle: float) -> float:
    return sin(radians(angle))


def _cos(angle: float) -> float:
    return cos(radians(angle))
