"""`treadle runs`: list stored runs, newest first; cancel one, rate an answer of one, delete some."""

import argparse

from treadle.cli.exit_codes import OK
from treadle.cli.run_store import account_name, existing_home, home_of_run, resolve_run_id
from treadle.cli.runner import run_async
from treadle.cli.ui.pager import open_pager
from treadle.cli.ui.render import format_table, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.states import state_name
from treadle.runs import Runs
from treadle.stores.journal import JournalQuery, RunInfo


def run(args: argparse.Namespace) -> int:
    """List, cancel, rate or delete runs."""
    match args.action:
        case "cancel":
            return run_async(_cancel_run(args))
        case "rate":
            return run_async(_rate_answer(args))
        case "delete":
            return run_async(_delete_runs(args))
        case _:
            return run_async(_list_runs(args))


async def _list_runs(args: argparse.Namespace) -> int:
    home, screen = existing_home(), Screen()
    wanted = JournalQuery(status=args.status or "", limit=args.most, rating=args.rating)
    found = [] if home is None else await home.journal.list_runs(wanted)
    if args.json:
        screen.line(to_terminal_json(found))
    elif found:
        with open_pager(screen, wanted=not args.no_pager):
            for line in format_table([("RUN", "WHEN", "STATUS", "AGENT", "TITLE"), *map(_to_row, found)], screen.width):
                screen.line(line)
    else:
        screen.note("There are no runs.")
    return OK


def _to_row(info: RunInfo) -> tuple[str, ...]:
    return (
        info.run_id,
        format_time(info.updated_at),
        state_name(info.status),
        f"{info.agent} {info.model}".strip(),
        info.title or "-",
    )


async def _cancel_run(args: argparse.Namespace) -> int:
    args.run = await resolve_run_id(args.run)
    status = await Runs(home_of_run(args.run)).cancel(args.run)
    done = "cancelling" if status == "open" else "cancelled"
    Screen().line(to_terminal_json({done: args.run}) if args.json else f"{done.capitalize()}: {args.run}")
    return OK


async def _rate_answer(args: argparse.Namespace) -> int:
    args.run = await resolve_run_id(args.run)
    rating = None if args.rating == "none" else args.rating
    feedback = await Runs(home_of_run(args.run)).rate(args.run, rating, args.comment, message=args.message)
    screen = Screen()
    if args.json:
        screen.line(to_terminal_json({"run_id": args.run, "feedback": feedback}))
    else:
        done = "Withdrawn" if feedback is None else f"Rated {feedback.rating}, answer {feedback.message}"
        screen.line(f"{done}: {args.run}")
    return OK


async def _delete_runs(args: argparse.Namespace) -> int:
    args.run = [await resolve_run_id(typed) for typed in args.run]
    await Runs(home_of_run(args.run[0])).delete(*args.run, by=account_name(), force=args.force)
    Screen().line(to_terminal_json({"deleted": args.run}) if args.json else f"Deleted: {', '.join(args.run)}")
    return OK
