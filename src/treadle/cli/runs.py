"""`treadle runs`: the runs that are kept, newest first; one cancelled, some deleted."""

import argparse

from treadle.app.runs import Runs
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.kept import account, home_of, kept
from treadle.cli.render import table, to_json, when
from treadle.cli.screen import Screen
from treadle.stores.journal import RunInfo


def run(args: argparse.Namespace) -> int:
    """List them, or end one."""
    match args.action:
        case "cancel":
            return carry_out(_cancel(args))
        case "delete":
            return carry_out(_delete(args))
        case _:
            return carry_out(_list(args))


async def _list(args: argparse.Namespace) -> int:
    home, screen = kept(), Screen()
    found = [] if home is None else await home.journal.runs(args.most, args.status or "")
    if args.json:
        screen.line(to_json(found))
    elif found:
        for line in table([("RUN", "WHEN", "STATUS", "AGENT", "TITLE"), *map(_row, found)], screen.width):
            screen.line(line)
    else:
        screen.note("There are no runs.")
    return FINE


def _row(info: RunInfo) -> tuple[str, ...]:
    return info.run_id, when(info.updated_at), info.status, f"{info.agent} {info.model}".strip(), info.title or "-"


async def _cancel(args: argparse.Namespace) -> int:
    await Runs(home_of(args.run)).cancel(args.run)
    Screen().line(to_json({"cancelled": args.run}) if args.json else f"Cancelled: {args.run}")
    return FINE


async def _delete(args: argparse.Namespace) -> int:
    await Runs(home_of(args.run[0])).delete(*args.run, by=account(), force=args.force)
    Screen().line(to_json({"deleted": args.run}) if args.json else f"Deleted: {', '.join(args.run)}")
    return FINE
