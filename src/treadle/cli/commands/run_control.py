"""`treadle cancel`, `watch`, `retry` and `wait`: for runs that workers or servers execute, on whichever machine."""

import argparse
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import msgspec

from treadle.cli.exit_codes import FAILED, OK, WAITING
from treadle.cli.run_store import home_of_run, resolve_run_id
from treadle.cli.runner import run_async
from treadle.cli.ui.event_printer import EventPrinter
from treadle.cli.ui.render import clean_for_terminal, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import TreadleError
from treadle.guard.answer_grounding import mark_ungrounded
from treadle.home import Home
from treadle.loop.state import replay
from treadle.runs import Runs
from treadle.stores.journal import RunInfo

EXIT_CODES = {"answered": OK, "limit": OK, "waiting": WAITING}


def run(args: argparse.Namespace) -> int:
    """Execute the command."""
    commands: dict[str, Callable[[argparse.Namespace, Screen], Coroutine[Any, Any, int]]] = {
        "cancel": _cancel_runs,
        "retry": _retry_runs,
        "wait": _wait_for_run,
        "watch": _watch_run,
    }
    return run_async(commands[args.command](args, Screen()))


async def _cancel_runs(args: argparse.Namespace, screen: Screen) -> int:
    async def cancel(home: Home, run_id: str) -> str:
        status = await Runs(home).cancel(run_id)
        return "cancelling" if status == "open" else status

    return await change_each(args.run, screen, cancel, as_json=args.json)


async def _retry_runs(args: argparse.Namespace, screen: Screen) -> int:
    return await change_each(args.run, screen, queue_again, as_json=args.json)


async def queue_again(home: Home, run_id: str) -> str:
    """Queue a failed run again, and return its status."""
    await Runs(home).retry(run_id)
    return "queued"


async def change_each(
    typed_ids: Sequence[str], screen: Screen, change: Callable[[Home, str], Awaitable[str]], *, as_json: bool
) -> int:
    """Change each run, and print its status; one that can't be changed doesn't stop the others."""
    statuses: dict[str, str] = {}
    code = OK
    for typed in typed_ids:
        try:
            run_id = await resolve_run_id(typed)
            statuses[run_id] = await change(home_of_run(run_id), run_id)
        except TreadleError as error:
            if len(typed_ids) == 1:
                raise
            screen.tell(f"treadle: {error}", "red")
            code = FAILED
    if as_json:
        screen.line(to_terminal_json(statuses))
    else:
        for run_id, status in statuses.items():
            screen.line(f"{status.capitalize()}: {run_id}")
    return code


async def _wait_for_run(args: argparse.Namespace, screen: Screen) -> int:
    run_id = await resolve_run_id(args.run)
    home = home_of_run(run_id)
    info = await Runs(home).wait(run_id, args.timeout)
    return await print_outcome(screen, home, info, as_json=args.json)


async def print_outcome(screen: Screen, home: Home, info: RunInfo, *, as_json: bool) -> int:
    """Print the answer of a run, or why there is none; return the command's exit code."""
    finished = replay(await home.journal.read(info.run_id)).finished
    text = "" if finished is None else finished.text
    reason = "" if finished is None else finished.reason
    if as_json:
        screen.line(to_terminal_json({"run_id": info.run_id, "status": info.status, "text": text, "reason": reason}))
    elif finished is not None and info.status in ("answered", "limit"):
        screen.line(mark_ungrounded(text, finished.ungrounded))
    if info.status not in ("answered", "limit"):
        screen.tell(f"treadle: {_explain(info, reason)}", "yellow")
    return EXIT_CODES.get(info.status, FAILED)


def _explain(info: RunInfo, reason: str) -> str:
    match info.status:
        case "open":
            return f"run {info.run_id} isn't over yet."
        case "waiting":
            return f"run {info.run_id} waits for a person, a time or an event: treadle approve {info.run_id}"
        case "failed":
            return f"run {info.run_id} failed: {clean_for_terminal(reason)} To try again: treadle retry {info.run_id}"
        case _:
            return f"run {info.run_id} was {info.status}."


async def _watch_run(args: argparse.Namespace, screen: Screen) -> int:
    from treadle.server.runs.events import PersonSaid, RunReply, StreamReset, TurnEnded, encode  # slow to import
    from treadle.server.runs.follow import RunFollower
    from treadle.server.runs.sse import parse_cursor

    run_id = await resolve_run_id(args.run)
    home = home_of_run(run_id)
    printer = EventPrinter(screen)
    async for events in RunFollower(home, run_id, parse_cursor(args.after)).batches():
        for cursor, event in events:
            if args.json:
                screen.line(to_terminal_json({"id": str(cursor), **msgspec.json.decode(encode(event))}))
            elif isinstance(event, PersonSaid):
                screen.note(f"» {clean_for_terminal(event.text)}")
            elif not isinstance(event, RunReply | TurnEnded | StreamReset):
                printer(event)  # pyright: ignore[reportArgumentType]  # the others are of a run
    screen.end_line()
    info = await home.journal.info(run_id)
    return EXIT_CODES.get(info.status, FAILED) if args.json else await _print_end(screen, home, info, printer.words)


async def _print_end(screen: Screen, home: Home, info: RunInfo, words: str) -> int:
    """Print how a run ended; its answer only where that wasn't among its events."""
    if info.status in ("answered", "limit") and words.strip():
        return OK
    return await print_outcome(screen, home, info, as_json=False)
