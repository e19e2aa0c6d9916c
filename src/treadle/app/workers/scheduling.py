"""Runs that begin by the clock: cron expressions, what is wanted with them, and how a due one is begun once."""

from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec
from msgspec import Struct

from treadle.app.workers.order import Order, opening
from treadle.core.errors import RunTaken, SettingsError
from treadle.core.log import log
from treadle.stores.queue import Place
from treadle.stores.schedules import Schedule, Schedules

MISSING = "Scheduled runs need croniter, which isn't installed: pip install 'treadle[cluster]'"


class Wanted(Struct, frozen=True):
    """What a scheduled run is of."""

    order: Order
    message: str
    user: str = ""


def new_schedule(name: str, cron: str, zone: str, wanted: Wanted, now: float) -> Schedule:
    """A schedule whose first run is the next one by its expression."""
    opening(wanted.order, wanted.message, wanted.user)  # what can't be asked then is better said now
    return Schedule(name, cron, zone, msgspec.json.encode(wanted).decode(), next_after(cron, zone, now))


def next_after(cron: str, zone: str, now: float) -> float:
    """When an expression is next due after a time, by the clocks of a place. Both are seconds since 1970."""
    made: Any = _croniter()
    begin = datetime.fromtimestamp(now, _zone(zone))
    try:
        return float(made(cron, begin).get_next(float))
    except (ValueError, KeyError) as error:
        raise SettingsError(f"{cron!r} is no cron expression ({error}); write five fields, such as '0 7 * * *'.") from error


def _croniter() -> Any:
    try:
        from croniter import croniter  # pyright: ignore[reportMissingModuleSource,reportUnknownVariableType]  # it has no types
    except ImportError as error:
        raise SettingsError(MISSING) from error
    return croniter  # pyright: ignore[reportUnknownVariableType]


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise SettingsError(f"There is no time zone {name!r}; write one such as Europe/Zurich.") from error


def run_id_of(schedule: Schedule) -> str:
    """The id of its due run: the same whoever begins it."""
    return f"{schedule.name}-{datetime.fromtimestamp(schedule.at, UTC):%Y%m%dT%H%M%SZ}"


async def begin_due(schedules: Schedules) -> list[str]:
    """Begin what is due and nobody has begun. What was missed while no worker ran is begun once."""
    due, now = await schedules.due()
    return [run_id_of(each) for each in due if await _begun(schedules, each, now)]


async def _begun(schedules: Schedules, schedule: Schedule, now: float) -> bool:
    try:
        wanted = msgspec.json.decode(schedule.wanted, type=Wanted)
        entries = opening(wanted.order, wanted.message, wanted.user)
        place = Place(run_id_of(schedule), wanted.user, wanted.order.first_model)
        return await schedules.begin(schedule, next_after(schedule.cron, schedule.zone, now), place, entries)
    except RunTaken:
        return False  # begun already, by an earlier schedule of this name
    except (SettingsError, msgspec.DecodeError) as error:
        log.error("The schedule %s can't be gone by: %s", schedule.name, error)
        return False
