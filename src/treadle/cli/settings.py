"""`treadle settings`: what counts in this folder, and where each value comes from."""

import argparse
import os
from pathlib import Path

from treadle.app.settings import DEFAULT, describe, settings_of
from treadle.app.settled import Settings
from treadle.cli.codes import FINE
from treadle.cli.render import table, to_json
from treadle.cli.screen import Screen


def run(args: argparse.Namespace) -> int:
    """Show them, and say what a project's file says in vain."""
    screen, settings = Screen(), settings_of(Path.cwd())
    notes = (*settings.notes, *_overridden(settings))
    if args.json:
        rows = [{"key": row.key, "value": row.value, "from": row.source} for row in describe(settings)]
        files = {"user_file": settings.user_file, "project_file": settings.project_file or None}
        screen.line(to_json({"settings": rows, **files, "notes": notes}))
        return FINE
    rows = [(row.key, "-" if row.value is None else to_json(row.value), row.source) for row in describe(settings)]
    for line in table([("KEY", "VALUE", "FROM"), *rows], screen.width):
        screen.line(line)
    for note in notes:
        screen.tell(note, "yellow")
    if all(row.source == DEFAULT for row in describe(settings)):
        screen.note(f"Nothing is settled yet. What you write in {settings.user_file} counts everywhere.")
    return FINE


def _overridden(settings: Settings) -> tuple[str, ...]:
    """What the environment says instead."""
    chosen = os.environ.get("TREADLE_MODEL")
    if not chosen or not settings.model.name:
        return ()
    return (f"TREADLE_MODEL is set, so {chosen} is used instead of model.name and model.base_url.",)
