"""Listens, serves and stops. To this machine alone: as long as there are no users, whoever reaches the server may do everything."""

import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from treadle.app.assistant import Assistant, Host
from treadle.core.errors import SettingsError
from treadle.server.app import create_app

ADDRESS, PORT = "127.0.0.1", 8080
GRACE = 5  # seconds that requests have to end in once the server stops; after as many more the process ends, whatever hangs in it
STOPPING = (signal.SIGINT, signal.SIGTERM)

Listened = Callable[[str], None]


async def serve(
    assistants: Sequence[Assistant],
    host: Host,
    *,
    address: str = ADDRESS,
    port: int = PORT,
    grace: int = GRACE,
    on_listening: Listened | None = None,
) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM). `on_listening` hears the address once requests are taken."""
    with listen(address, port) as listening:
        app = create_app(assistants, host, hosts=hosts_of(listening))
        await Server(app, listening, on_listening, grace=grace).serve(sockets=[listening])


def listen(address: str = ADDRESS, port: int = PORT) -> socket.socket:
    """A socket on this machine's own address; port 0 picks one that is free."""
    place = _loopback(address)
    if not 0 <= port <= 65535:
        raise SettingsError(f"There is no port {port}; ports go from 0, which picks a free one, to 65535.")
    family = socket.AF_INET6 if ":" in place else socket.AF_INET
    try:
        return socket.create_server((place, port), family=family)
    except OSError as error:
        why = "is taken" if error.errno == errno.EADDRINUSE else f"can't be used here ({error.strerror or error})"
        raise SettingsError(f"Port {port} of {place} {why}; choose another, or 0 for any that is free.") from error


def _loopback(address: str) -> str:
    if address.lower() == "localhost":
        return ADDRESS
    try:
        place = ip_address(address)
    except ValueError:
        place = None
    if place is None or not (place == IPv6Address("::1") if place.version == 6 else place.is_loopback):
        raise SettingsError(
            f"{address or 'An empty address'} isn't this machine's own address, and anybody who reaches the server may use it;"
            " 127.0.0.1, ::1 and localhost are."
        )
    return address


def url_of(listening: socket.socket) -> str:
    """The address that a browser opens."""
    return f"http://{_host_of(listening)}:{listening.getsockname()[1]}/"


def hosts_of(listening: socket.socket) -> tuple[str, ...]:
    """The names that this server may be called by."""
    return (ADDRESS, "localhost", "[::1]", _host_of(listening))


def _host_of(listening: socket.socket) -> str:
    place = listening.getsockname()[0]
    return f"[{place}]" if ":" in place else place


class Server(uvicorn.Server):
    """Uvicorn, that says when it listens, ends as asked without dying of the signal, and ends in any case."""

    def __init__(self, app: ASGIApp, listening: socket.socket, on_listening: Listened | None = None, *, grace: int = GRACE) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,  # whoever starts the server says where its log goes
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="on",
                timeout_graceful_shutdown=grace,
            )
        )
        self._url = url_of(listening)
        self._on_listening = on_listening
        self._grace = grace

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests, and say so."""
        await super().startup(sockets)
        if self._on_listening:
            self._on_listening(self._url)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop at a signal. In a thread nothing can be heard of signals; `should_exit` stops it there."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; at a second Ctrl-C, without waiting for requests."""
        if not self.should_exit:
            last = threading.Timer(2 * self._grace, os._exit, (1,))  # a thread that hangs would keep the process for ever
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)
