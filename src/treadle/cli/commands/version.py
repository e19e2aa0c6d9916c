"""`treadle version`."""

import argparse
import sys

from treadle._version import __version__


def run(args: argparse.Namespace) -> int:
    """Print the version."""
    python = ".".join(map(str, sys.version_info[:3]))
    if args.json:
        from treadle.cli.ui.render import to_terminal_json

        print(to_terminal_json({"treadle": __version__, "python": python}))
    else:
        print(f"treadle {__version__} (Python {python})")
    return 0
