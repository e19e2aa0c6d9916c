"""`treadle settings`: show the effective settings of this folder, and where each value comes from."""

import argparse
import os
from pathlib import Path

from treadle.cli.exit_codes import OK
from treadle.cli.ui.render import format_table, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.settings.loader import DEFAULT, describe_settings, settings_for
from treadle.settings.schema import Settings


def run(args: argparse.Namespace) -> int:
    """Show the settings, and which settings of a project file have no effect."""
    screen, settings = Screen(), settings_for(Path.cwd())
    notes = (*settings.notes, *_environment_values(settings))
    if args.json:
        rows = [{"key": row.key, "value": row.value, "from": row.source} for row in describe_settings(settings)]
        files = {"user_file": settings.user_file, "project_file": settings.project_file or None}
        screen.line(to_terminal_json({"settings": rows, **files, "notes": notes}))
        return OK
    rows = [(row.key, "-" if row.value is None else to_terminal_json(row.value), row.source) for row in describe_settings(settings)]
    for line in format_table([("KEY", "VALUE", "FROM"), *rows], screen.width):
        screen.line(line)
    for note in notes:
        screen.tell(note, "yellow")
    if all(row.source == DEFAULT for row in describe_settings(settings)):
        screen.note(f"Nothing is set yet. What you write in {settings.user_file} applies everywhere.")
    return OK


def _environment_values(settings: Settings) -> tuple[str, ...]:
    """Return the values that the environment overrides."""
    chosen = os.environ.get("TREADLE_MODEL")
    if not chosen or not settings.model.name:
        return ()
    return (f"TREADLE_MODEL is set, so {chosen} is used instead of model.name and model.base_url.",)
