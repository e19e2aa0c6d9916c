"""`treadle schedules`: what begins by the clock, and when it is next due. How one is made is `treadle submit --every`."""

import argparse
from typing import Any

import msgspec

from treadle.app.home import open_home
from treadle.app.workers.scheduling import Wanted
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.kept import kept
from treadle.cli.render import table, to_json, when
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError
from treadle.guard.redaction import Redactor
from treadle.stores.queue import Queue
from treadle.stores.schedules import Schedule, Schedules


def run(args: argparse.Namespace) -> int:
    """List them, or remove one."""
    return carry_out(_removed(args, Screen()) if args.action == "remove" else _listed(args, Screen()))


async def _listed(args: argparse.Namespace, screen: Screen) -> int:
    found = await _schedules().all() if kept() else []
    if args.json:
        screen.line(to_json([{**msgspec.to_builtins(each), "wanted": _wanted(each)} for each in found]))
    elif found:
        for line in table([("NAME", "NEXT", "CRON", "ZONE", "ASSISTANT", "MESSAGE"), *map(_row, found)], screen.width):
            screen.line(line)
    else:
        screen.note("There are no schedules.")
    return FINE


async def _removed(args: argparse.Namespace, screen: Screen) -> int:
    if not kept() or not await _schedules().remove(args.name):
        raise SettingsError(f"There is no schedule {args.name!r}. `treadle schedules` lists them.")
    screen.line(to_json({"removed": args.name}) if args.json else f"Removed: {args.name}")
    return FINE


def _schedules() -> Schedules:
    database = open_home().database
    return Schedules(database, Queue(database))


def _wanted(schedule: Schedule) -> dict[str, Any]:
    """What is wanted, without secrets."""
    return Redactor().value(msgspec.json.decode(schedule.wanted))


def _row(schedule: Schedule) -> tuple[str, ...]:
    wanted = msgspec.convert(_wanted(schedule), Wanted)
    return schedule.name, when(schedule.at), schedule.cron, schedule.zone, wanted.order.assistant, " ".join(wanted.message.split())
