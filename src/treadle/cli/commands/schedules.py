"""`treadle schedules`: list scheduled runs and when each is next due. `treadle submit --every` creates one."""

import argparse
from typing import Any

import msgspec

from treadle.cli.exit_codes import OK
from treadle.cli.run_store import existing_home
from treadle.cli.runner import run_async
from treadle.cli.ui.render import format_table, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.guard.redaction import Redactor
from treadle.home import open_home
from treadle.stores.queue import RunQueue
from treadle.stores.schedules import Schedule, Schedules
from treadle.workers.schedules import ScheduledRun


def run(args: argparse.Namespace) -> int:
    """List the schedules, or remove one."""
    return run_async(_remove_schedule(args, Screen()) if args.action == "remove" else _list_schedules(args, Screen()))


async def _list_schedules(args: argparse.Namespace, screen: Screen) -> int:
    found = await _open_schedules().all() if existing_home() else []
    if args.json:
        screen.line(to_terminal_json([{**msgspec.to_builtins(each), "wanted": _order_to_json(each)} for each in found]))
    elif found:
        for line in format_table([("NAME", "NEXT", "CRON", "ZONE", "ASSISTANT", "MESSAGE"), *map(_to_row, found)], screen.width):
            screen.line(line)
    else:
        screen.note("There are no schedules.")
    return OK


async def _remove_schedule(args: argparse.Namespace, screen: Screen) -> int:
    if not existing_home() or not await _open_schedules().remove(args.name):
        raise SettingsError(f"There is no schedule {args.name!r}. `treadle schedules` lists them.")
    screen.line(to_terminal_json({"removed": args.name}) if args.json else f"Removed: {args.name}")
    return OK


def _open_schedules() -> Schedules:
    database = open_home().database
    return Schedules(database, RunQueue(database))


def _order_to_json(schedule: Schedule) -> dict[str, Any]:
    """Return what a schedule starts, as JSON without secrets."""
    return Redactor().value(msgspec.json.decode(schedule.wanted))


def _to_row(schedule: Schedule) -> tuple[str, ...]:
    wanted = msgspec.convert(_order_to_json(schedule), ScheduledRun)
    return (
        schedule.name,
        format_time(schedule.at),
        schedule.cron,
        schedule.zone,
        wanted.order.assistant,
        " ".join(wanted.message.split()),
    )
