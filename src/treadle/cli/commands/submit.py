"""`treadle submit`: queue a run for workers, now, at a time, or repeatedly. Nothing is run here."""

import argparse
import re
from datetime import datetime
from time import time

from treadle.cli.agent_options import options_from_args
from treadle.cli.commands.run_control import print_outcome
from treadle.cli.exit_codes import OK
from treadle.cli.run_store import home_of_run, resolve_run_id
from treadle.cli.runner import run_async
from treadle.cli.ui.render import format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.home import open_home
from treadle.plugins.models import configured_model, default_model
from treadle.plugins.prompts import prompt_from_words
from treadle.runs import Runs
from treadle.workers.run_spec import RunSpec
from treadle.workers.schedules import ScheduledRun
from treadle.workers.submission import requeue_run, schedule_run, submit_run

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run(args: argparse.Namespace) -> int:
    """Queue the run."""
    return run_async(_submit(args, Screen()))


async def _submit(args: argparse.Namespace, screen: Screen) -> int:
    if args.resume:
        _check_exclusive(args)
    if args.run_id and (args.resume or args.every):
        raise SettingsError("--run-id is for a new run: leave it out with --resume and --every.")
    if args.resume:
        args.resume = await resolve_run_id(args.resume)
        await requeue_run(home_of_run(args.resume), args.resume, parse_time(args.at))
        return await _report(args, screen, args.resume)
    if args.every:
        await _schedule(args, screen)
        return OK
    order, message = await _make_order(args), prompt_from_words(args.message)
    run_id = await submit_run(open_home(), order, message, user=args.user, at=parse_time(args.at), run_id=args.run_id)
    return await _report(args, screen, run_id)


async def _report(args: argparse.Namespace, screen: Screen, run_id: str) -> int:
    """Print the run's id; with --wait, its outcome."""
    if args.wait:
        screen.note(f"Run {run_id} is queued.")
        home = open_home()
        return await print_outcome(screen, home, await Runs(home).wait(run_id), as_json=args.json)
    screen.line(to_terminal_json({"run_id": run_id}) if args.json else run_id)
    return OK


async def _schedule(args: argparse.Namespace, screen: Screen) -> None:
    if args.at or args.wait:
        raise SettingsError("--every says when: leave --at and --wait out.")
    wanted = ScheduledRun(await _make_order(args), prompt_from_words(args.message), args.user)
    schedule = await schedule_run(open_home(), args.every, args.zone, wanted, args.name)
    screen.line(to_terminal_json({"name": schedule.name, "at": schedule.at}) if args.json else schedule.name)
    if not args.json:
        screen.note(f"First due {format_time(schedule.at)}; `treadle schedules` lists it.")


def _check_exclusive(args: argparse.Namespace) -> None:
    if args.message or args.assistant or args.agent or args.every:
        raise SettingsError("--resume continues a run as it was submitted: leave the message, --assistant and --every out.")


async def _make_order(args: argparse.Namespace) -> RunSpec:
    if args.agent:
        if args.assistant or args.model or args.base_url or args.instructions or args.workspace or args.no_person:
            raise SettingsError(
                "--agent has its own model, instructions and rules: only --user, its queue and when it runs can be given."
            )
        return RunSpec(agent=args.agent, queue=args.queue, priority=args.priority, any_version=args.any_version)
    if not args.assistant:
        raise SettingsError("Say whom to ask: -a NAME, or --agent MODULE:NAME; `treadle assistants` lists the assistants.")
    chosen = options_from_args(args)
    name, address = (chosen.model, "") if chosen.model else configured_model()
    name = name or await default_model()
    return RunSpec(
        chosen.assistant,
        name,
        chosen.base_url or address,
        chosen.instructions,
        chosen.workspace,
        chosen.attended,
        queue=args.queue,
        priority=args.priority,
        any_version=args.any_version,
    )


def parse_time(text: str | None, now: float | None = None) -> float:
    """Parse a typed time to seconds since 1970; 0 if there is none."""
    if not text:
        return 0.0
    later = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if later:
        return (time() if now is None else now) + int(later[1]) * UNITS[later[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise SettingsError(f"{text!r} isn't a time; write 2026-11-16T07:00, or 10m, 2h, 1d from now.") from error
