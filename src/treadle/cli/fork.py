"""`treadle fork`: a new run from the first entries of another."""

import argparse

from treadle.app.runs import Runs
from treadle.cli.carrying import carry_out
from treadle.cli.kept import entries_of
from treadle.cli.render import to_json
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError


def run(args: argparse.Namespace) -> int:
    """Make it, and say how to go on."""
    return carry_out(_fork(args))


async def _fork(args: argparse.Namespace) -> int:
    there = len(await entries_of(args.run))
    if args.at is not None and args.at > there:
        raise SettingsError(f"Run {args.run} has {there} entries, so it can't be forked after {args.at}.")
    forked = await Runs().fork(args.run, args.at)
    screen = Screen()
    if args.json:
        screen.line(to_json({"run_id": forked, "from": args.run, "entries": args.at or there}))
    else:
        screen.line(forked)
        screen.note(f"Go on with: treadle resume {forked}, or treadle ask --run-id {forked} PROMPT")
    return 0
