"""`treadle worker`: run queued runs, with one line on stdout for each.

Ctrl-C or SIGTERM has it take no more: runs in progress may end within `worker.drain` seconds, and the rest is released.
"""

import argparse
import asyncio
import os
import signal
from contextlib import AsyncExitStack
from threading import Timer

from msgspec.structs import replace

from treadle.cli.exit_codes import OK
from treadle.cli.runner import run_async
from treadle.cli.ui.log_handler import attach_json_log, attach_log
from treadle.cli.ui.screen import Screen
from treadle.engine.telemetry import start_telemetry
from treadle.home import Home, open_home
from treadle.notifications.notifier import run_notifier
from treadle.settings.loader import user_settings
from treadle.stores.queue import DEFAULT_QUEUE
from treadle.workers.app_version import check_app_version, resolve_app_version
from treadle.workers.dispatcher import WorkerOptions
from treadle.workers.executor import Observe
from treadle.workers.run_spec import check_queue_name
from treadle.workers.worker import Worker, load_worker_options

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP_TIMEOUT = 8.0  # seconds after which a worker that was told to stop has ended


def run(args: argparse.Namespace) -> int:
    """Work until a signal stops it."""
    return run_async(_run_worker(args, Screen(quiet=args.quiet)))


async def _run_worker(args: argparse.Namespace, screen: Screen) -> int:
    start_telemetry()
    if args.json_log:
        attach_json_log("treadle")
    else:
        attach_log(screen, "treadle")
    terms, home = _load_terms(args), open_home()
    async with AsyncExitStack() as serving:
        observe = await _serve_metrics(args.metrics, home, screen, serving) if args.metrics else None
        return await _work(Worker(home, terms, screen.line, observe=observe), terms, home, screen)


async def _serve_metrics(address: str, home: Home, screen: Screen, serving: AsyncExitStack) -> Observe:
    """Serve the worker's metrics while it runs; return what counts a run."""
    from treadle.server.metrics import ServerMetrics  # slow to import
    from treadle.server.worker_metrics import parse_metrics_address, serve_metrics
    from treadle.stores.queue_stats import count_asking

    figures = ServerMetrics(home.database)
    serving.enter_context(figures.counting(lambda: count_asking(home.database)))
    host, port = await serving.enter_async_context(serve_metrics(figures, *parse_metrics_address(address)))
    screen.note(f"Metrics: http://{host}:{port}/metrics")
    return figures.turn


async def _work(worker: Worker, terms: WorkerOptions, home: Home, screen: Screen) -> int:
    stop, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    first = _stop if terms.drain == 0 else _drain
    for number in SIGNALS:
        loop.add_signal_handler(number, first, stop, hurry, screen, loop)
    queues = "" if terms.queues == (DEFAULT_QUEUE,) else f", queues {', '.join(terms.queues)}"
    version = f", version {', '.join(terms.versions)}" if terms.versions else ""
    screen.note(f"{worker.holder} works on {home.database.name}, {terms.at_once} at once{queues}{version}. Ctrl-C stops it.")
    async with run_notifier(user_settings(), lambda: [home]):
        await worker.work(stop, hurry)
    return OK


def _load_terms(args: argparse.Namespace) -> WorkerOptions:
    """Return the configured terms, overridden by typed options."""
    settled = load_worker_options()
    agents = tuple(args.agents or settled.agents)
    return replace(
        settled,
        at_once=args.at_once or settled.at_once,
        lease=args.lease or settled.lease,
        agents=agents,
        queues=_check_queues(tuple(args.queue or settled.queues)),
        drain=settled.drain if args.drain is None else args.drain,
        app_version=resolve_app_version(args.app_version or settled.app_version, agents),
        compatible=tuple([check_app_version(name) for name in args.compatible or settled.compatible]),
    )


def _check_queues(queues: tuple[str, ...]) -> tuple[str, ...]:
    for name in queues:
        check_queue_name(name)
    return queues


def _drain(stop: asyncio.Event, hurry: asyncio.Event, screen: Screen, loop: asyncio.AbstractEventLoop) -> None:
    """Take no more runs, and let those that are active end. A second signal releases them."""
    for number in SIGNALS:
        loop.add_signal_handler(number, _stop, stop, hurry, screen, loop)
    screen.note("Stopping as soon as what is under way has ended. Ctrl-C leaves it to others.")
    stop.set()


def _stop(stop: asyncio.Event, hurry: asyncio.Event, screen: Screen, loop: asyncio.AbstractEventLoop) -> None:
    """Stop, and release the runs. A second signal ends the process at once: like a crash, after which nothing is lost."""
    for number in SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
    screen.note("Stopping: what is under way is left to others.")
    stop.set()
    hurry.set()
    latest = Timer(STOP_TIMEOUT, os._exit, (OK,))  # a tool may refuse to stop, and the process would wait for it
    latest.daemon = True
    latest.start()
