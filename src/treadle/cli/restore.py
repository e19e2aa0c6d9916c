"""`treadle restore FILE`: what a backup holds, in the place of what is kept."""

import argparse
from pathlib import Path

from treadle.app.backup import restore
from treadle.app.home import close_home, open_home
from treadle.cli.codes import FINE
from treadle.cli.render import counted, when
from treadle.cli.screen import Screen


def run(args: argparse.Namespace) -> int:
    """Put it in place."""
    screen, home = Screen(), open_home()
    close_home(home)
    listed, aside = restore(home, Path(args.file), replace=args.replace)
    screen.line(f"{counted(len(listed.files), 'file')} of {when(listed.made_at)} are in {home.folder}.")
    if aside is not None:
        screen.line(f"What was there before is in {aside}.")
    return FINE
