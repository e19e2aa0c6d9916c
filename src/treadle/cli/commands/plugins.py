"""`treadle plugins`: list what installed packages provide."""

import argparse

from treadle.cli.ui.render import format_table, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.plugins.entry_points import list_plugins


def run(args: argparse.Namespace) -> int:
    """List the plugins."""
    screen, found = Screen(), list_plugins()
    if args.json:
        screen.line(to_terminal_json(found))
    else:
        rows = [(plugin.group, plugin.name, f"{plugin.package} {plugin.version}", plugin.value) for plugin in found]
        for line in format_table([("KIND", "NAME", "PACKAGE", "WHERE"), *rows], screen.width):
            screen.line(line)
    return 0
