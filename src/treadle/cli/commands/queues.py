"""`treadle queues` and `treadle dead-letters`: what waits for workers, which workers there are, and runs that failed too often."""

import argparse
from typing import Any

import msgspec

from treadle.cli.commands.run_control import change_each, queue_again
from treadle.cli.exit_codes import OK
from treadle.cli.run_store import existing_home
from treadle.cli.runner import run_async
from treadle.cli.ui.render import clean_for_terminal, format_table, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import RunNotFound, SettingsError
from treadle.home import Home, open_home
from treadle.runs import Runs
from treadle.stores.dead_letters import DeadLetter
from treadle.stores.queue_stats import OperationStats, read_operation_stats
from treadle.stores.worker_list import WorkerInfo, WorkerList
from treadle.workers.app_version import format_unserved
from treadle.workers.run_control import failure_reason


def run(args: argparse.Namespace) -> int:
    """Execute the command."""
    if args.command == "queues":
        return run_async(_show_queues(args, Screen()))
    return run_async(_change_dead(args, Screen()) if args.action in ("retry", "remove") else _list_dead(args, Screen()))


async def _show_queues(args: argparse.Namespace, screen: Screen) -> int:
    database = open_home().database
    stats = await read_operation_stats(database) if existing_home() else OperationStats()
    workers = await WorkerList(database).list_workers() if existing_home() else []
    if args.json:
        screen.line(to_terminal_json({**msgspec.to_builtins(stats), "workers": msgspec.to_builtins(workers)}))
        return OK
    if not stats.queues and not workers:
        screen.note("No run is queued, and there is no worker.")
        return OK
    rows = [
        (name, *map(str, (each.ready, each.later, each.sent, each.dead)), f"{each.oldest:.0f} s")
        for name, each in stats.queues.items()
    ]
    for line in format_table([("QUEUE", "READY", "LATER", "SENT", "DEAD", "OLDEST"), *rows], screen.width) if rows else ():
        screen.line(line)
    for line in format_table([("WORKER", "RUNS", "QUEUES", "STATE", "VERSION", "APP"), *map(_worker_row, workers)], screen.width):
        screen.line(line)
    for version, count in stats.unserved.items():
        screen.note(format_unserved(version, count))
    return OK


def _worker_row(each: WorkerInfo) -> tuple[str, ...]:
    state = "silent" if not each.live else "draining" if each.draining else "live"
    return (
        each.worker,
        f"{each.runs}/{each.at_once}",
        ", ".join(each.queues),
        state,
        each.version,
        ", ".join(each.app_versions) or "-",
    )


async def _list_dead(args: argparse.Namespace, screen: Screen) -> int:
    home = open_home()
    found = await Runs(home).dead_letters(args.queue) if existing_home() else []
    told = [(each, await failure_reason(home, each.run_id)) for each in found]
    if args.json:
        screen.line(to_terminal_json([_to_json(each, reason) for each, reason in told]))
    elif told:
        rows = [
            (each.run_id, format_time(each.at), each.queue, str(each.failures), each.agent, clean_for_terminal(reason))
            for each, reason in told
        ]
        for line in format_table([("RUN", "SINCE", "QUEUE", "FAILED", "AGENT", "REASON"), *rows], screen.width):
            screen.line(line)
    else:
        screen.note("There are no dead letters.")
    return OK


def _to_json(each: DeadLetter, reason: str) -> dict[str, Any]:
    return {**msgspec.to_builtins(each), "reason": reason}


async def _change_dead(args: argparse.Namespace, screen: Screen) -> int:
    """Retry or remove dead letters, and print what was done to each; one that can't be changed doesn't stop the others."""
    if bool(args.run) == args.all:
        raise SettingsError("Say which: RUN …, or --all.")
    if args.queue and not args.all:
        raise SettingsError("--queue goes with --all.")
    dead = await Runs(open_home()).dead_letters(args.queue) if args.all and existing_home() else []
    chosen = [each.run_id for each in dead] if args.all else args.run
    return await change_each(chosen, screen, queue_again if args.action == "retry" else _remove, as_json=args.json)


async def _remove(home: Home, run_id: str) -> str:
    if not await Runs(home).remove_dead_letter(run_id):
        raise RunNotFound(f"Run {run_id} is no dead letter. `treadle dead-letters` lists them.")
    return "removed"
