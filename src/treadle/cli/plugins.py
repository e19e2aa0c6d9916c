"""`treadle plugins`: what installed packages offer."""

import argparse

from treadle.app.plugins import installed
from treadle.cli.render import table, to_json
from treadle.cli.screen import Screen


def run(args: argparse.Namespace) -> int:
    """List it."""
    screen, found = Screen(), installed()
    if args.json:
        screen.line(to_json(found))
    else:
        rows = [(plugin.group, plugin.name, f"{plugin.package} {plugin.version}", plugin.value) for plugin in found]
        for line in table([("KIND", "NAME", "PACKAGE", "WHERE"), *rows], screen.width):
            screen.line(line)
    return 0
