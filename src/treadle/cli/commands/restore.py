"""`treadle restore FILE`: replace all stored data with the contents of a backup."""

import argparse
from pathlib import Path

from treadle.admin.backup import restore_backup
from treadle.cli.exit_codes import OK
from treadle.cli.ui.render import format_count, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.home import close_home, open_home


def run(args: argparse.Namespace) -> int:
    """Restore the backup."""
    screen, home = Screen(), open_home()
    close_home(home)
    listed, aside = restore_backup(home, Path(args.file), replace=args.replace)
    if args.json:
        moved = None if aside is None else str(aside)
        screen.line(
            to_terminal_json({"folder": str(home.folder), "files": len(listed.files), "made_at": listed.made_at, "aside": moved})
        )
        return OK
    screen.line(f"{format_count(len(listed.files), 'file')} of {format_time(listed.made_at)} are in {home.folder}.")
    if aside is not None:
        screen.line(f"What was there before is in {aside}.")
    return OK
