"""`treadle worker`: run queued runs, with one line on stdout for each. Ctrl-C or SIGTERM releases those in progress."""

import argparse
import asyncio
import os
import signal
from threading import Timer

from msgspec.structs import replace

from treadle.cli.exit_codes import OK
from treadle.cli.runner import run_async
from treadle.cli.ui.log_handler import attach_log
from treadle.cli.ui.screen import Screen
from treadle.home import open_home
from treadle.notifications.notifier import run_notifier
from treadle.settings.loader import user_settings
from treadle.workers.dispatcher import WorkerOptions
from treadle.workers.worker import Worker, load_worker_options

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP_TIMEOUT = 8.0  # seconds after which a worker that was told to stop has ended


def run(args: argparse.Namespace) -> int:
    """Work until a signal stops it."""
    return run_async(_run_worker(args, Screen(quiet=args.quiet)))


async def _run_worker(args: argparse.Namespace, screen: Screen) -> int:
    attach_log(screen, "treadle")
    terms, home = _load_terms(args), open_home()
    worker, stop = Worker(home, terms, screen.line), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _stop, stop, screen, loop)
    screen.note(f"{worker.holder} works on {home.database.name}, {terms.at_once} at once. Ctrl-C stops it.")
    async with run_notifier(user_settings(), lambda: [home]):
        await worker.work(stop)
    return OK


def _load_terms(args: argparse.Namespace) -> WorkerOptions:
    """Return the configured terms, overridden by typed options."""
    settled = load_worker_options()
    return replace(
        settled,
        at_once=args.at_once or settled.at_once,
        lease=args.lease or settled.lease,
        agents=tuple(args.agents or settled.agents),
    )


def _stop(stop: asyncio.Event, screen: Screen, loop: asyncio.AbstractEventLoop) -> None:
    """Stop, and release the runs. A second signal ends the process at once: like a crash, after which nothing is lost."""
    for number in SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
    screen.note("Stopping: what is under way is left to others.")
    stop.set()
    latest = Timer(STOP_TIMEOUT, os._exit, (OK,))  # a tool may refuse to stop, and the process would wait for it
    latest.daemon = True
    latest.start()
