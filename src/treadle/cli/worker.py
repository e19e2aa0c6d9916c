"""`treadle worker`: carries queued runs out, a line on stdout for each. Ctrl-C or SIGTERM lets go of those that are under way."""

import argparse
import asyncio
import os
import signal
from threading import Timer

from msgspec.structs import replace

from treadle.app.home import open_home
from treadle.app.workers.dispatcher import Terms
from treadle.app.workers.worker import Worker, settled_terms
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.logged import show_log
from treadle.cli.screen import Screen

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LATEST = 8.0  # seconds after which a worker that was told to stop has ended


def run(args: argparse.Namespace) -> int:
    """Work until told to stop."""
    return carry_out(_work(args, Screen(quiet=args.quiet)))


async def _work(args: argparse.Namespace, screen: Screen) -> int:
    show_log(screen, "treadle")
    terms, home = _terms(args), open_home()
    worker, stop = Worker(home, terms, screen.line), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _stop, stop, screen, loop)
    screen.note(f"{worker.holder} works on {home.database.name}, {terms.at_once} at once. Ctrl-C stops it.")
    await worker.work(stop)
    return FINE


def _terms(args: argparse.Namespace) -> Terms:
    """What was settled, unless it was typed otherwise."""
    settled = settled_terms()
    return replace(settled, at_once=args.at_once or settled.at_once, lease=args.lease or settled.lease)


def _stop(stop: asyncio.Event, screen: Screen, loop: asyncio.AbstractEventLoop) -> None:
    """Let go. A second signal ends the process at once: that is as good as a crash, after which nothing is lost."""
    for number in SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
    screen.note("Stopping: what is under way is left to others.")
    stop.set()
    latest = Timer(LATEST, os._exit, (FINE,))  # a tool may refuse to stop, and the process would wait for it
    latest.daemon = True
    latest.start()
