"""`treadle retention`: what `[retention]` would delete; `treadle retention apply` deletes it."""

import argparse
from time import time

from treadle.app.home import open_home
from treadle.app.retention import Expired, apply, expired
from treadle.app.settings import user_settings
from treadle.app.settled import RetentionSettings
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.render import table, to_json, when
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError


def run(args: argparse.Namespace) -> int:
    """Show it, or delete it."""
    return carry_out(_apply(args) if args.action == "apply" else _show(args))


async def _show(args: argparse.Namespace) -> int:
    settings = user_settings().retention
    if settings == RetentionSettings():
        Screen().line(to_json({"runs": [], "jobs": []}) if args.json else "No retention is set: nothing is deleted by itself.")
        return FINE
    _print(await expired(open_home(), settings, time()), args, "Would be deleted")
    return FINE


async def _apply(args: argparse.Namespace) -> int:
    settings = user_settings().retention
    if settings == RetentionSettings():
        raise SettingsError("No retention is set. Set runs_days or jobs_days under [retention] in your treadle.toml.")
    _print(await apply(open_home(), settings, time()), args, "Deleted")
    return FINE


def _print(found: Expired, args: argparse.Namespace, what: str) -> None:
    screen = Screen()
    if args.json:
        screen.line(to_json({"runs": [run.run_id for run in found.runs], "jobs": [job.id for job in found.jobs]}))
        return
    rows = [("run", run.run_id, when(run.updated_at), run.title or "-") for run in found.runs]
    rows += [("job", job.id, when(job.finished_at), job.title or "-") for job in found.jobs]
    for line in table([("", what.upper(), "WHEN", "TITLE"), *rows], screen.width) if rows else ():
        screen.line(line)
    screen.note(f"{what}: {len(found.runs)} runs, {len(found.jobs)} jobs.")
