"""`treadle submit`: a run for workers, now, at a time, or again and again. Nothing is carried out here."""

import argparse
import re
from datetime import datetime
from time import time

from treadle.app.assistant import typed
from treadle.app.home import open_home
from treadle.app.models import default_model, settled_model
from treadle.app.workers.order import Order
from treadle.app.workers.scheduling import Wanted
from treadle.app.workers.submit import queue_again, submit, submit_every
from treadle.cli.carrying import carry_out
from treadle.cli.choices import chosen_from
from treadle.cli.codes import FINE
from treadle.cli.kept import home_of
from treadle.cli.render import to_json, when
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run(args: argparse.Namespace) -> int:
    """Queue it."""
    return carry_out(_submitted(args, Screen()))


async def _submitted(args: argparse.Namespace, screen: Screen) -> int:
    if args.resume:
        _check_alone(args)
        await queue_again(home_of(args.resume), args.resume, time_of(args.at))
        screen.line(to_json({"run_id": args.resume}) if args.json else args.resume)
    elif args.every:
        await _scheduled(args, screen)
    else:
        order, message = await _order(args), typed(args.message)
        run_id = await submit(open_home(), order, message, user=args.user, at=time_of(args.at))
        screen.line(to_json({"run_id": run_id}) if args.json else run_id)
    return FINE


async def _scheduled(args: argparse.Namespace, screen: Screen) -> None:
    if args.at:
        raise SettingsError("--every says when: leave --at out.")
    wanted = Wanted(await _order(args), typed(args.message), args.user)
    schedule = await submit_every(open_home(), args.every, args.zone, wanted, args.name)
    screen.line(to_json({"name": schedule.name, "at": schedule.at}) if args.json else schedule.name)
    if not args.json:
        screen.note(f"First due {when(schedule.at)}; `treadle schedules` lists it.")


def _check_alone(args: argparse.Namespace) -> None:
    if args.message or args.assistant or args.every:
        raise SettingsError("--resume goes on with a run as it was submitted: leave the message, --assistant and --every out.")


async def _order(args: argparse.Namespace) -> Order:
    if not args.assistant:
        raise SettingsError("Say whom to ask: -a NAME; `treadle assistants` lists those that are installed.")
    chosen = chosen_from(args)
    name, address = (chosen.model, "") if chosen.model else settled_model()
    name = name or await default_model()
    return Order(chosen.assistant, name, chosen.base_url or address, chosen.instructions, chosen.workspace, chosen.attended)


def time_of(text: str | None, now: float | None = None) -> float:
    """A time that was typed, as seconds since 1970; 0 where none was."""
    if not text:
        return 0.0
    later = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if later:
        return (time() if now is None else now) + int(later[1]) * UNITS[later[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise SettingsError(f"{text!r} is no time; write 2026-11-16T07:00, or 10m, 2h, 1d from now.") from error
