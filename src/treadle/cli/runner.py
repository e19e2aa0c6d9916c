"""Run a command in its own event loop, and close connections and files at the end."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from treadle.cli.ui.interrupts import exit_if_terminated, on_interrupt
from treadle.home import close_homes


def run_async(work: Coroutine[Any, Any, int]) -> int:
    """Run the coroutine and return the command's exit code."""
    _silence_log()
    return asyncio.run(_run_and_close(work))


def _silence_log() -> None:
    """Keep the log off the screen, unless debugging is on: a command reports errors itself."""
    if not os.environ.get("TREADLE_DEBUG"):
        logging.getLogger("treadle").addHandler(logging.NullHandler())


def run_sync_or_async(begin: Callable[[], int | Awaitable[int]]) -> int:
    """Run a function that may be synchronous or asynchronous.

    A synchronous one has no event loop around it, so that it may start its own.
    """
    _silence_log()
    try:
        begun = begin()
    except BaseException:
        close_homes()
        raise
    return run_async(_await_if_needed(begun))


async def _await_if_needed(begun: int | Awaitable[int]) -> int:
    return await begun if isinstance(begun, Awaitable) else begun


async def _run_and_close(work: Coroutine[Any, Any, int]) -> int:
    """Run the command. Like Ctrl-C, SIGTERM cancels what is awaited, so that it is left in good order."""
    task = asyncio.current_task()
    assert task is not None  # this is a coroutine
    with on_interrupt(task.cancel, [signal.SIGTERM]) as received:
        try:
            return await _run_to_end(work)
        except asyncio.CancelledError:
            exit_if_terminated(received)
            raise


async def _run_to_end(work: Coroutine[Any, Any, int]) -> int:
    try:
        return await work
    finally:
        if "treadle.models.http" in sys.modules:  # otherwise nothing was connected
            from treadle.models.http import close_model_connections

            await close_model_connections()
        close_homes()
