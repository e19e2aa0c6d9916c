"""Carries a command out in an event loop of its own, and lets go of connections and files at its end."""

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine
from typing import Any

from treadle.app.home import close_homes


def carry_out(work: Coroutine[Any, Any, int]) -> int:
    """The command's exit code."""
    if not os.environ.get("TREADLE_DEBUG"):
        logging.getLogger("treadle").addHandler(logging.NullHandler())  # tracebacks are for developers
    return asyncio.run(_and_close(work))


async def _and_close(work: Coroutine[Any, Any, int]) -> int:
    try:
        return await work
    finally:
        if "treadle.models.http" in sys.modules:  # otherwise nothing was connected
            from treadle.models.http import close_all

            await close_all()
        close_homes()
