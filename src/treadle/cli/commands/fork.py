"""`treadle fork`: create a new run from the first entries of another."""

import argparse

from treadle.cli.run_store import load_run_entries, resolve_run_id
from treadle.cli.runner import run_async
from treadle.cli.ui.render import to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.runs import Runs


def run(args: argparse.Namespace) -> int:
    """Create the run, and print how to continue it."""
    return run_async(_fork_run(args))


async def _fork_run(args: argparse.Namespace) -> int:
    args.run = await resolve_run_id(args.run)
    there = len(await load_run_entries(args.run))
    if args.at is not None and args.at > there:
        raise SettingsError(f"Run {args.run} has {there} entries, so it can't be forked after {args.at}.")
    forked = await Runs().fork(args.run, args.at)
    screen = Screen()
    if args.json:
        screen.line(to_terminal_json({"run_id": forked, "from": args.run, "entries": args.at or there}))
    else:
        screen.line(forked)
        screen.note(f"Continue with: treadle resume {forked}, or treadle ask --run-id {forked} PROMPT")
    return 0
