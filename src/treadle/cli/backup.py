"""`treadle backup FILE`: everything that is kept, in one file."""

import argparse
from pathlib import Path

from treadle.app.backup import back_up
from treadle.app.home import open_home
from treadle.cli.codes import FINE
from treadle.cli.render import counted, to_json
from treadle.cli.screen import Screen

ELSEWHERE = "Runs are kept in {}, which isn't in it: have PostgreSQL back that up (pg_dump, with the schemas treadle*)."
KEY = "Secrets in it can be read with the key in TREADLE_KEY only, which isn't in it: keep a copy of that elsewhere."


def run(args: argparse.Namespace) -> int:
    """Write it."""
    screen = Screen()
    backed = back_up(open_home(), Path(args.file))
    screen.line(to_json(backed) if args.json else f"{backed.path}: {counted(backed.files, 'file')}, {backed.size / 1e6:,.1f} MB.")
    if backed.elsewhere:
        screen.tell(ELSEWHERE.format(backed.elsewhere), "yellow")
    if backed.without_key:
        screen.tell(KEY, "yellow")
    return FINE
