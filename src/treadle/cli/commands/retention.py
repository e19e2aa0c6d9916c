"""`treadle retention`: show what `[retention]` would delete; `treadle retention apply` deletes it."""

import argparse
from time import time

from treadle.admin.retention import ExpiredItems, apply_retention, find_expired
from treadle.cli.exit_codes import OK
from treadle.cli.runner import run_async
from treadle.cli.ui.render import format_table, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.home import open_home
from treadle.settings.loader import user_settings
from treadle.settings.schema import RetentionSettings


def run(args: argparse.Namespace) -> int:
    """Show or delete expired data."""
    return run_async(_apply_retention(args) if args.action == "apply" else _show_expired(args))


async def _show_expired(args: argparse.Namespace) -> int:
    settings = user_settings().retention
    if settings == RetentionSettings():
        Screen().line(
            to_terminal_json({"runs": [], "jobs": []}) if args.json else "No retention is set: nothing is deleted by itself."
        )
        return OK
    _print_expired(await find_expired(open_home(), settings, time()), args, "Would be deleted")
    return OK


async def _apply_retention(args: argparse.Namespace) -> int:
    settings = user_settings().retention
    if settings == RetentionSettings():
        raise SettingsError("No retention is set. Set runs_days or jobs_days under [retention] in your treadle.toml.")
    _print_expired(await apply_retention(open_home(), settings, time()), args, "Deleted")
    return OK


def _print_expired(found: ExpiredItems, args: argparse.Namespace, what: str) -> None:
    screen = Screen()
    if args.json:
        screen.line(to_terminal_json({"runs": [run.run_id for run in found.runs], "jobs": [job.id for job in found.jobs]}))
        return
    rows = [("run", run.run_id, format_time(run.updated_at), run.title or "-") for run in found.runs]
    rows += [("job", job.id, format_time(job.finished_at), job.title or "-") for job in found.jobs]
    for line in format_table([("", what.upper(), "WHEN", "TITLE"), *rows], screen.width) if rows else ():
        screen.line(line)
    screen.note(f"{what}: {len(found.runs)} runs, {len(found.jobs)} jobs.")
