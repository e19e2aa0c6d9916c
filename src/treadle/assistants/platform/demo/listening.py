"""Uvicorn, that says when it listens, and ends as asked without dying of the signal."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from socket import socket

import uvicorn
from starlette.types import ASGIApp

GRACE = 5  # seconds that requests have to end in


class Server(uvicorn.Server):
    """Serves an application; `listening` is set once it takes requests."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="on")
        config.timeout_graceful_shutdown = GRACE
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to take requests, and say so."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop at Ctrl-C. In a thread nothing can be heard of signals; `should_exit` stops it there."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
