"""Cleanup when a server stops: what assistants opened, model connections, local models, homes' files."""

import asyncio
import sys
import threading
from collections.abc import Callable
from inspect import isawaitable

from treadle.core.log import log
from treadle.home import close_homes

CLOSE_TIMEOUT = 3.0  # seconds that a local model has to end; it ends with the process in any case


async def close_resource(close: Callable[[], object]) -> None:
    """Close a resource that an assistant opened. A failure doesn't keep others from being closed."""
    try:
        closing = close()
        if isawaitable(closing):
            await closing
    except Exception:  # noqa: BLE001 - a stranger's, at the end of everything
        log.exception("Something that an assistant had opened couldn't be closed")


async def close_server_resources() -> None:
    """Close everything that was opened. Modules that were never loaded aren't loaded for it."""
    if "treadle.models.http" in sys.modules:
        from treadle.models import http

        await http.close_model_connections()
    if "treadle.models.llamacpp.child" in sys.modules:
        from treadle.models.llamacpp.child import close_children

        ending = threading.Thread(target=close_children, daemon=True)  # of its own: nothing waits for it at the end
        ending.start()
        await asyncio.to_thread(ending.join, CLOSE_TIMEOUT)
    close_homes()
