"""Carries a command out in an event loop of its own, and lets go of connections and files at its end."""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from treadle.app.home import close_homes


def carry_out(work: Coroutine[Any, Any, int]) -> int:
    """The command's exit code."""
    if not os.environ.get("TREADLE_DEBUG"):
        logging.getLogger("treadle").addHandler(logging.NullHandler())  # tracebacks are for developers
    return asyncio.run(_and_close(work))


def carry_out_either(begin: Callable[[], int | Awaitable[int]]) -> int:
    """The same for what may be asynchronous or not. What isn't has no event loop around it, so that it may start its own."""
    try:
        begun = begin()
    except BaseException:
        close_homes()
        raise
    return carry_out(_settled(begun))


async def _settled(begun: int | Awaitable[int]) -> int:
    return await begun if isinstance(begun, Awaitable) else begun


async def _and_close(work: Coroutine[Any, Any, int]) -> int:
    try:
        return await work
    finally:
        if "treadle.models.http" in sys.modules:  # otherwise nothing was connected
            from treadle.models.http import close_all

            await close_all()
        close_homes()
