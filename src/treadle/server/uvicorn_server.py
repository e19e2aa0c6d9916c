"""Listen, serve and stop. On the loopback address alone, unless there are users or an option allows anyone.

Without users only the account that started the server may use it, and authenticates by a token. Streams and other
long requests end themselves when the server stops (`ShutdownMiddleware`).
"""

import asyncio
import errno
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import FrameType
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.admin.retention import run_retention_daily
from treadle.core.errors import SettingsError
from treadle.home import Home, open_user_home, open_users
from treadle.notifications.notifier import run_notifier
from treadle.plugins.assistant import Assistant, Host
from treadle.server.app import create_app
from treadle.server.http_protocol import ConnectionLimits, TimeoutProtocol, default_connection_limits
from treadle.server.login import SignInLink
from treadle.server.models import DownloadTracker
from treadle.settings.loader import user_settings
from treadle.stores.owner_access import OwnerAccess
from treadle.stores.users import Users


class ShutdownMiddleware:
    """ASGI middleware. `scope["stopping"]` is an event that is set when the server stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._event = asyncio.Event()

    def begin(self) -> None:
        """Set the event: the server stops."""
        self._event.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the event to the scope, and pass the request on."""
        scope["stopping"] = self._event
        await self._app(scope, receive, send)


ADDRESS, PORT = "127.0.0.1", 8080
LOOPBACKS = {4: ADDRESS, 6: "::1"}
ACCEPT_TICKS = 3  # turns of the event loop from an accepted socket to a connection
GRACE = 5  # seconds that requests have to end in once the server stops; after as many more the process ends, whatever hangs in it
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

OnListening = Callable[[str], None]


async def serve_http(
    assistants: Sequence[Assistant],
    host: Host,
    *,
    address: str = ADDRESS,
    port: int = PORT,
    grace: int = GRACE,
    on_listening: OnListening | None = None,
    on_signed_in: Callable[[], None] | None = None,
    anyone: bool = False,
    no_token: bool = False,
    names: Sequence[str] = (),
    cors: Sequence[str] = (),
    behind_proxy: bool = False,
    fetching: DownloadTracker | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. `on_listening` is called with the URL once requests are accepted.

    The users are in the host's home. Without users it is the account that has the token in that home, and
    `on_listening` gets a link that signs one browser in, after which `on_signed_in` is called; with `no_token` it is
    every account on this machine, with `anyone` every client that reaches it. `names` are host names besides its
    addresses; for the others see `create_app`.
    """
    oidc = user_settings().oidc
    flags = {"anyone": anyone, "no_token": no_token, "behind_proxy": behind_proxy, "has_provider": bool(oidc.issuer)}
    users = check_access(users_of(host), address, **flags)
    owner = OwnerAccess(host.home.folder) if users is None and not (anyone or no_token) else None
    link = SignInLink(on_signed_in) if owner else None
    called = [_parse_host_name(name) for name in names]
    how: dict[str, Any] = {
        "users": users,
        "owner": owner,
        "link": link,
        "cors": cors,
        "behind_proxy": behind_proxy,
        "fetching": fetching,
        "oidc": oidc,
    }
    with listen(address, port, anywhere=users is not None or anyone) as listening:
        if owner is not None:
            owner.open()
        hosts = (*allowed_hosts(listening), *called)
        app = create_app(assistants, host, hosts=hosts, by_address=not is_loopback(address), **how)
        homes, settings = partial(_all_homes, host.home, users), user_settings()
        async with run_retention_daily(settings.retention, homes), run_notifier(settings, homes):
            await TreadleServer(app, listening, _announce_link(on_listening, link), grace=grace).serve(sockets=[listening])


def _all_homes(home: Home, users: Users | None) -> list[Home]:
    """Return the homes of a server: its owner's, and those of its users."""
    return [home, *([] if users is None else [open_user_home(home, person.name) for person in users.all()])]


def _announce_link(on_listening: OnListening | None, link: SignInLink | None) -> OnListening | None:
    """Wrap `on_listening` to get the sign-in link, where there is one."""
    if on_listening is None or link is None:
        return on_listening
    return lambda url: on_listening(link.at(url))


def users_of(host: Host) -> Users:
    """Return the users of a server with this host; empty where it has none."""
    return open_users(host.home)


def check_access(
    users: Users,
    address: str,
    *,
    anyone: bool = False,
    no_token: bool = False,
    behind_proxy: bool = False,
    has_provider: bool = False,
) -> Users | None:
    """Return the users, or None without authentication. Raises where that would expose the server without an explicit option.

    With an identity provider there may be no users yet: the first one who signs in is added.
    """
    if users.all() or has_provider:
        if anyone:
            raise SettingsError("There are users, so that not anyone is let in; leave --anyone out, or remove them all.")
        if no_token:
            raise SettingsError("There are users, who each have a token; leave --no-token out, or remove them all.")
        return users
    if not anyone and (behind_proxy or not is_loopback(address)):
        where = "a server behind a proxy" if behind_proxy else address or "an empty address"
        raise SettingsError(
            f"Others can reach {where}, and there are no users yet. `treadle users add NAME` makes one;"
            " --anyone serves every client without authentication, with all rights."
        )
    return None


def listen(address: str = ADDRESS, port: int = PORT, *, anywhere: bool = False) -> socket.socket:
    """Return a socket on a loopback address, or on any with `anywhere`; port 0 picks a free one."""
    place = _anywhere(address) if anywhere else _loopback(address)
    if not 0 <= port <= 65535:
        raise SettingsError(f"There is no port {port}; ports go from 0, which picks a free one, to 65535.")
    family = socket.AF_INET6 if ":" in place else socket.AF_INET
    both = place == "::" and socket.has_dualstack_ipv6()  # all addresses are those of IPv4 too
    try:
        return socket.create_server((place, port), family=family, dualstack_ipv6=both)
    except OSError as error:
        why = "is taken" if error.errno == errno.EADDRINUSE else f"can't be used here ({error.strerror or error})"
        raise SettingsError(f"Port {port} of {place} {why}; choose another, or 0 for any that is free.") from error


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    place = _parse_address(address)
    return place is not None and (place == IPv6Address("::1") if place.version == 6 else place.is_loopback)


def _parse_address(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(ADDRESS if address.lower() == "localhost" else address)
    except ValueError:
        return None


def _anywhere(address: str) -> str:
    place = _parse_address(address)
    if place is None:
        raise SettingsError(f"{address!r} is no IP address; write one of this machine's, 0.0.0.0 for all of them, or localhost.")
    return str(place)


def _loopback(address: str) -> str:
    if not is_loopback(address):
        raise SettingsError(
            f"{address or 'An empty address'} isn't this machine's own address, and anybody who reaches the server may use it;"
            " 127.0.0.1, ::1 and localhost are."
        )
    return str(_parse_address(address))


def server_url(listening: socket.socket) -> str:
    """Return the URL that a browser on this machine opens."""
    return f"http://{_format_host(listening)}:{listening.getsockname()[1]}/"


def allowed_hosts(listening: socket.socket) -> tuple[str, ...]:
    """Return the host names that this server may be called by, by default."""
    return (ADDRESS, "localhost", "[::1]", _format_host(listening))


def _parse_host_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", name):
        raise SettingsError(
            f"{name!r} can't be a server's name; write it as treadle.example.org, without https:// and without a port."
        )
    return name.lower()


def _format_host(listening: socket.socket) -> str:
    bound: str = listening.getsockname()[0]
    place = LOOPBACKS[ip_address(bound).version] if ip_address(bound).is_unspecified else bound
    return f"[{place}]" if ":" in place else place


def _make_config(app: ASGIApp, grace: int, patient: ConnectionLimits) -> uvicorn.Config:
    made = partial(TimeoutProtocol, patience=patient)
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", made),  # it is called like one
        limit_concurrency=patient.most + 1,  # where no connection can be closed
        backlog=max(16, patient.most // 8),  # so many are taken at once, before anybody can make room for them
        log_config=None,  # the caller configures logging
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=grace,
    )


async def _stop_accepting(sockets: Sequence[socket.socket]) -> None:
    """Stop accepting connections.

    Those about to be accepted have to be in before the sockets are closed: asyncio would drop them.
    """
    for listening in sockets:
        asyncio.get_running_loop().remove_reader(listening)
    for _ in range(ACCEPT_TICKS):
        await asyncio.sleep(0)


class TreadleServer(uvicorn.Server):
    """Uvicorn's server with a startup callback, that exits cleanly on a signal, and ends in any case."""

    def __init__(
        self,
        app: ASGIApp,
        listening: socket.socket,
        on_listening: OnListening | None = None,
        *,
        grace: int = GRACE,
        patient: ConnectionLimits | None = None,
    ) -> None:
        self._stopping = ShutdownMiddleware(app)
        super().__init__(_make_config(self._stopping, grace, patient or default_connection_limits()))
        self._url = server_url(listening)
        self._on_listening = on_listening
        self._grace = grace

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting requests, and call `on_listening`."""
        await super().startup(sockets)
        if self._on_listening:
            self._on_listening(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting requests, and end long-running ones."""
        self._stopping.begin()
        await _stop_accepting(sockets or [])
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on a signal. In a thread signals can't be received; `should_exit` stops it there."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; on a second Ctrl-C, without waiting for requests."""
        if not self.should_exit:
            last = threading.Timer(2 * self._grace, os._exit, (1,))  # a thread that hangs would keep the process for ever
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)
