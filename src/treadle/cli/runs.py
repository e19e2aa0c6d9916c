"""`treadle runs`: the runs that are kept, newest first."""

import argparse

from treadle.cli.carrying import carry_out
from treadle.cli.kept import kept
from treadle.cli.render import table, to_json, when
from treadle.cli.screen import Screen
from treadle.stores.journal import RunInfo


def run(args: argparse.Namespace) -> int:
    """List them."""
    return carry_out(_runs(args))


async def _runs(args: argparse.Namespace) -> int:
    home, screen = kept(), Screen()
    found = [] if home is None else await home.journal.runs(args.most, args.status or "")
    if args.json:
        screen.line(to_json(found))
    elif found:
        for line in table([("RUN", "WHEN", "STATUS", "AGENT", "TITLE"), *map(_row, found)], screen.width):
            screen.line(line)
    else:
        screen.note("There are no runs.")
    return 0


def _row(info: RunInfo) -> tuple[str, ...]:
    return info.run_id, when(info.updated_at), info.status, f"{info.agent} {info.model}".strip(), info.title or "-"
