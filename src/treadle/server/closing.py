"""What is let go of when a server stops: what assistants opened, connections to models, models that run here, homes' files."""

import asyncio
import sys
import threading
from collections.abc import Callable
from inspect import isawaitable

from treadle.app.home import close_homes
from treadle.core.log import log

PATIENCE = 3.0  # seconds that a local model has to end; it ends with the process in any case


async def close_one(close: Callable[[], object]) -> None:
    """Close what an assistant has opened. What can't be closed keeps nothing else open."""
    try:
        closing = close()
        if isawaitable(closing):
            await closing
    except Exception:  # noqa: BLE001 - a stranger's, at the end of everything
        log.exception("Something that an assistant had opened couldn't be closed")


async def close_all() -> None:
    """Close whatever was opened. What was never loaded isn't loaded for it."""
    if "treadle.models.http" in sys.modules:
        from treadle.models import http

        await http.close_all()
    if "treadle.models.llamacpp.child" in sys.modules:
        from treadle.models.llamacpp.child import close_children

        ending = threading.Thread(target=close_children, daemon=True)  # of its own: nothing waits for it at the end
        ending.start()
        await asyncio.to_thread(ending.join, PATIENCE)
    close_homes()
