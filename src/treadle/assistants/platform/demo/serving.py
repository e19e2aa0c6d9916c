"""Starts the demo platform on this machine: in a thread for tests (`start_demo`), or until Ctrl-C for a person (`run_demo`)."""

import asyncio
import socket
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treadle import SettingsError
from treadle.assistants.platform.demo.clock import Clock, SystemClock

if TYPE_CHECKING:
    from treadle.assistants.platform.demo.credentials import Credentials
    from treadle.assistants.platform.demo.listening import Server
    from treadle.assistants.platform.demo.platform import Platform
    from treadle.assistants.platform.demo.values import Shape

ADDRESS, PORT = "127.0.0.1", 8081
PATIENCE = 20.0  # seconds for a server to begin or end


class Running:
    """A platform that runs in a thread of its own, until `stop` or the end of its `with` block. `url` has no slash at its end."""

    def __init__(self, platform: "Platform", listening: socket.socket) -> None:
        self.url = _url(listening)
        self.credentials: Credentials = platform.credentials
        self._platform = platform
        self._listening = listening
        self._server = _server(platform)
        self._thread = threading.Thread(target=self._serve, name="treadle-platform-demo-http", daemon=True)
        self._thread.start()
        self._server.listening.wait(PATIENCE)

    def token(self, username: str) -> str:
        """The API key of a user: admin, alice, bob or carol."""
        return self.credentials.users[username].token

    def password(self, username: str) -> str:
        """The password of a user, for `/api/login`."""
        return self.credentials.users[username].password

    @property
    def expired_token(self) -> str:
        """A key of alice's that is no good any more."""
        return self.credentials.expired

    def settle(self, seconds: float = 30.0) -> None:
        """Wait until no workflow has anything left to do."""
        self._platform.runner.settle(seconds)

    def advance(self) -> bool:
        """With `pace=None`: let every running workflow do one thing. Whether there was any."""
        return self._platform.runner.advance()

    def stop(self) -> None:
        """Stop it; workflows that run go on at the next start from the same file."""
        self._server.should_exit = True
        self._thread.join(PATIENCE)
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
) -> Running:
    """Start a platform and come back once it takes requests.

    `path` is its SQLite file, made with sample data if it isn't there; without one it is in memory. Port 0 is any that is free.
    `clock` may be a `SetClock`, which stands still until it is moved. `pace` is how many seconds a usual step takes; with None
    nothing moves until `advance` is called.
    """
    listening = _listen(port)
    try:
        return Running(_platform(path, clock, shape, pace), listening)
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
    """Serve a platform until the process is told to stop; `tell` hears the address, the users and their tokens, line by line."""
    with _listen(port) as listening:
        platform = _platform(path, None, shape, pace)
        for line in _introduction(_url(listening), platform.credentials):
            tell(line)
        await _server(platform).serve(sockets=[listening])


def _platform(path: Path | str | None, clock: Clock | None, shape: "Shape", pace: float | None) -> "Platform":
    missing = [package for package in ("starlette", "uvicorn", "yaml") if find_spec(package) is None]
    if missing:
        raise SettingsError(f"The demo platform needs {' and '.join(missing)}, not installed here: pip install 'treadle[platform]'")
    from treadle.assistants.platform.demo.platform import Platform

    return Platform(None if path is None else Path(path), clock or SystemClock(), shape, pace)


def _listen(port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise SettingsError(f"There is no port {port}; ports go from 0, which picks a free one, to 65535.")
    try:
        return socket.create_server((ADDRESS, port))
    except OSError as error:
        raise SettingsError(
            f"Port {port} of {ADDRESS} can't be had ({error}); choose another, or 0 for any that is free."
        ) from error


def _server(platform: "Platform") -> "Server":
    from treadle.assistants.platform.demo.app import create_app
    from treadle.assistants.platform.demo.listening import Server

    return Server(create_app(platform))


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{host}:{port}"


def _introduction(url: str, credentials: "Credentials") -> list[str]:
    from treadle.assistants.platform.demo.samples import USERS

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
