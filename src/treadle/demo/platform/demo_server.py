"""Start the demo platform on this machine: in a thread for tests (`start_demo`), or until Ctrl-C (`run_demo`)."""

import asyncio
import socket
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treadle.demo.platform.clock import Clock, SystemClock
from treadle.errors import SettingsError

if TYPE_CHECKING:
    from treadle.demo.platform.credentials import DemoCredentials
    from treadle.demo.platform.endpoints import DemoPlatform
    from treadle.demo.platform.http_types import Shape
    from treadle.demo.platform.uvicorn_server import NotifyingServer

ADDRESS, PORT = "127.0.0.1", 8081
STARTUP_TIMEOUT = 20.0  # seconds for a server to begin or end


class DemoServer:
    """A demo platform in its own thread, until `stop` or the end of its `with` block. `url` has no trailing slash."""

    def __init__(self, platform: "DemoPlatform", listening: socket.socket) -> None:
        self.url = _server_url(listening)
        self.credentials: DemoCredentials = platform.credentials
        self._platform = platform
        self._listening = listening
        self._server = _create_server(platform)
        self._thread = threading.Thread(target=self._serve, name="treadle-platform-demo-http", daemon=True)
        self._thread.start()
        self._server.listening.wait(STARTUP_TIMEOUT)

    def token(self, username: str) -> str:
        """Return the API key of a user: admin, alice, bob or carol."""
        return self.credentials.users[username].token

    def password(self, username: str) -> str:
        """Return the password of a user, for `/api/login`."""
        return self.credentials.users[username].password

    @property
    def expired_token(self) -> str:
        """An expired key of alice's."""
        return self.credentials.expired

    def settle(self, seconds: float = 30.0) -> None:
        """Wait until no workflow has anything left to do."""
        self._platform.runner.settle(seconds)

    def advance(self) -> bool:
        """With `pace=None`: advance every running workflow by one step. Return whether there was any."""
        return self._platform.runner.advance()

    def stop(self) -> None:
        """Stop it; running workflows continue at the next start from the same file."""
        self._server.should_exit = True
        self._thread.join(STARTUP_TIMEOUT)
        self._listening.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listening]))


def start_demo(
    path: Path | str | None = None,
    port: int = 0,
    *,
    shape: "Shape" = "new",
    clock: Clock | None = None,
    pace: float | None = 0.0,
) -> DemoServer:
    """Start a platform and return once it accepts requests.

    `path` is its SQLite file, created with sample data if missing; without one it is in memory. Port 0 is any free port.
    `clock` may be a `ManualClock`, which stands still until it is moved. `pace` is how many seconds a usual step takes;
    with None nothing moves until `advance` is called.
    """
    listening = _bind_socket(port)
    try:
        return DemoServer(_create_platform(path, clock, shape, pace), listening)
    except BaseException:
        listening.close()
        raise


async def run_demo(
    path: Path | str | None = None,
    port: int = PORT,
    *,
    shape: "Shape" = "new",
    pace: float = 1.0,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a platform until the process is stopped; the callback `tell` gets the address, users and tokens, line by line."""
    with _bind_socket(port) as listening:
        platform = _create_platform(path, None, shape, pace)
        for line in _format_introduction(_server_url(listening), platform.credentials):
            tell(line)
        await _create_server(platform).serve(sockets=[listening])


def _create_platform(path: Path | str | None, clock: Clock | None, shape: "Shape", pace: float | None) -> "DemoPlatform":
    missing = [package for package in ("starlette", "uvicorn", "yaml") if find_spec(package) is None]
    if missing:
        raise SettingsError(f"The demo platform needs {' and '.join(missing)}, not installed here: pip install 'treadle[platform]'")
    from treadle.demo.platform.endpoints import DemoPlatform

    return DemoPlatform(None if path is None else Path(path), clock or SystemClock(), shape, pace)


def _bind_socket(port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise SettingsError(f"There is no port {port}; ports go from 0, which picks a free one, to 65535.")
    try:
        return socket.create_server((ADDRESS, port))
    except OSError as error:
        raise SettingsError(
            f"Port {port} of {ADDRESS} can't be had ({error}); choose another, or 0 for any that is free."
        ) from error


def _create_server(platform: "DemoPlatform") -> "NotifyingServer":
    from treadle.demo.platform.app import create_demo_app
    from treadle.demo.platform.uvicorn_server import NotifyingServer

    return NotifyingServer(create_demo_app(platform))


def _server_url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{host}:{port}"


def _format_introduction(url: str, credentials: "DemoCredentials") -> list[str]:
    from treadle.demo.platform.sample_data import USERS

    known = [
        f"  {each.username:<6} {each.role:<9} team {each.team:<9} token {credentials.users[each.username].token}"
        f"  password {credentials.users[each.username].password}"
        for each in USERS
    ]
    alice = f"TREADLE_PLATFORM_SERVER={url} TREADLE_PLATFORM_TOKEN={credentials.users['alice'].token}"
    return [
        f"Platform demo at {url}",
        *known,
        f"  alice's expired token {credentials.expired}",
        f"As alice: {alice} treadle platform chat",
        "Ctrl-C stops it.",
    ]
