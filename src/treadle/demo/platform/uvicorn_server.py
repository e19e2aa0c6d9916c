"""A Uvicorn server that signals when it listens, and shuts down on a signal without dying of it."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from socket import socket

import uvicorn
from starlette.types import ASGIApp

SHUTDOWN_SECONDS = 5  # seconds that requests have to end in


class NotifyingServer(uvicorn.Server):
    """Serves an application; `listening` is set once it accepts requests."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="on")
        config.timeout_graceful_shutdown = SHUTDOWN_SECONDS
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start accepting requests, and set `listening`."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop at Ctrl-C. A thread receives no signals; `should_exit` stops it there."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
