"""What is let go of when a server stops: connections to models, models that run here, and the files of homes."""

import asyncio
import sys
import threading

from treadle.app.home import close_homes

PATIENCE = 3.0  # seconds that a local model has to end; it ends with the process in any case


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
