"""Scheduled runs: cron expressions, the specification of a scheduled run, and how a due one is started once."""

from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.errors import RunTaken, SettingsError
from treadle.core.log import log
from treadle.stores.schedules import Schedule, Schedules
from treadle.workers.run_spec import RunSpec, opening_entries

MISSING = "Scheduled runs need croniter, which isn't installed: pip install 'treadle[cluster]'"


class ScheduledRun(Struct, frozen=True):
    """The specification of a scheduled run."""

    order: RunSpec
    message: str
    user: str = ""


def new_schedule(name: str, cron: str, zone: str, wanted: ScheduledRun, now: float) -> Schedule:
    """Return a schedule that is first due at the next time of its expression."""
    opening_entries(wanted.order, wanted.message, wanted.user)  # what can't be asked then is better said now
    return Schedule(name, cron, zone, msgspec.json.encode(wanted).decode(), next_due_time(cron, zone, now))


def next_due_time(cron: str, zone: str, now: float) -> float:
    """Return when an expression is next due after a time, in a time zone. Both are seconds since 1970."""
    made: Any = _import_croniter()
    begin = datetime.fromtimestamp(now, _parse_zone(zone))
    try:
        return float(made(cron, begin).get_next(float))
    except (ValueError, KeyError) as error:
        raise SettingsError(f"{cron!r} is no cron expression ({error}); write five fields, such as '0 7 * * *'.") from error


def _import_croniter() -> Any:
    try:
        from croniter import croniter  # pyright: ignore[reportMissingModuleSource,reportUnknownVariableType]  # it has no types
    except ImportError as error:
        raise SettingsError(MISSING) from error
    return croniter  # pyright: ignore[reportUnknownVariableType]


def _parse_zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise SettingsError(f"There is no time zone {name!r}; write one such as Europe/Zurich.") from error


def scheduled_run_id(schedule: Schedule) -> str:
    """Return the id of a schedule's due run: the same whichever worker starts it."""
    return f"{schedule.name}-{datetime.fromtimestamp(schedule.at, UTC):%Y%m%dT%H%M%SZ}"


async def start_due_runs(schedules: Schedules) -> list[str]:
    """Start the due runs that no other worker has started. What was missed while no worker ran is started once."""
    due, now = await schedules.due()
    return [scheduled_run_id(each) for each in due if await _start_run(schedules, each, now)]


async def _start_run(schedules: Schedules, schedule: Schedule, now: float) -> bool:
    try:
        wanted = msgspec.json.decode(schedule.wanted, type=ScheduledRun)
        entries = opening_entries(wanted.order, wanted.message, wanted.user)
        place = wanted.order.position(scheduled_run_id(schedule), wanted.user)
        return await schedules.begin(schedule, next_due_time(schedule.cron, schedule.zone, now), place, entries)
    except RunTaken:
        return False  # begun already, by an earlier schedule of this name
    except (SettingsError, msgspec.DecodeError) as error:
        log.error("The schedule %s can't be gone by: %s", schedule.name, error)
        return False
