"""`treadle backup FILE`: write all stored data to one file."""

import argparse
from pathlib import Path

from treadle.admin.backup import create_backup
from treadle.cli.exit_codes import OK
from treadle.cli.ui.render import format_count, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.home import open_home

DATABASE_NOTICE = (
    "Runs are stored in {}, which isn't included: back that up with PostgreSQL's own tools (pg_dump, with the schemas treadle*)."
)
KEY_NOTICE = "Secrets in it can be read with the key in TREADLE_KEY only, which isn't in it: keep a copy of that elsewhere."


def run(args: argparse.Namespace) -> int:
    """Write the backup."""
    screen = Screen()
    backed = create_backup(open_home(), Path(args.file))
    screen.line(
        to_terminal_json(backed)
        if args.json
        else f"{backed.path}: {format_count(backed.files, 'file')}, {backed.size / 1e6:,.1f} MB."
    )
    if backed.elsewhere:
        screen.tell(DATABASE_NOTICE.format(backed.elsewhere), "yellow")
    if backed.without_key:
        screen.tell(KEY_NOTICE, "yellow")
    return OK
