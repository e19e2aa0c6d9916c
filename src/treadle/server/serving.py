"""Listens, serves and stops. To this machine alone, unless there are users or whoever starts it says that anyone may come.

Without users only the account that started it may use it, which proves itself by a token.
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
from starlette.types import ASGIApp

from treadle.app.assistant import Assistant, Host
from treadle.app.home import Home, home_of_person, users_in
from treadle.app.retention import applied_daily
from treadle.app.settings import user_settings
from treadle.core.errors import SettingsError
from treadle.server.app import create_app
from treadle.server.connection import Connection, Patience, patience
from treadle.server.login import SignInLink
from treadle.server.models import Fetching
from treadle.server.stopping import Stopping
from treadle.stores.owner import OwnerAccess
from treadle.stores.users import Users

ADDRESS, PORT = "127.0.0.1", 8080
LOOPBACKS = {4: ADDRESS, 6: "::1"}
LET_IN = 3  # turns of the event loop from somebody at the door to a connection
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
    on_signed_in: Callable[[], None] | None = None,
    anyone: bool = False,
    no_token: bool = False,
    names: Sequence[str] = (),
    cors: Sequence[str] = (),
    behind_proxy: bool = False,
    fetching: Fetching | None = None,
) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM). `on_listening` hears the address once requests are taken.

    Who may use it stands in the home of the host. Without users that is whoever has the token in that home, and what
    `on_listening` hears is a link that signs one browser in, after which `on_signed_in` is called; with `no_token` it is every
    account on this machine, with `anyone` whoever reaches it. `names` are those it may be called by besides its addresses; what
    the others mean says `create_app`.
    """
    users = let_in(users_of(host), address, anyone=anyone, no_token=no_token, behind_proxy=behind_proxy)
    owner = OwnerAccess(host.home.folder) if users is None and not (anyone or no_token) else None
    link = SignInLink(on_signed_in) if owner else None
    called = [_host_name(name) for name in names]
    how: dict[str, Any] = {
        "users": users,
        "owner": owner,
        "link": link,
        "cors": cors,
        "behind_proxy": behind_proxy,
        "fetching": fetching,
    }
    with listen(address, port, anywhere=users is not None or anyone) as listening:
        if owner is not None:
            owner.open()
        hosts = (*hosts_of(listening), *called)
        app = create_app(assistants, host, hosts=hosts, by_address=not is_loopback(address), **how)
        async with applied_daily(user_settings().retention, partial(_homes, host.home, users)):
            await Server(app, listening, _telling(on_listening, link), grace=grace).serve(sockets=[listening])


def _homes(home: Home, users: Users | None) -> list[Home]:
    """The homes that a server keeps things in: its owner's, and those of its users."""
    return [home, *([] if users is None else [home_of_person(home, person.name) for person in users.all()])]


def _telling(on_listening: Listened | None, link: SignInLink | None) -> Listened | None:
    """Whoever hears the address hears the link, where there is one."""
    if on_listening is None or link is None:
        return on_listening
    return lambda url: on_listening(link.at(url))


def users_of(host: Host) -> Users:
    """Who may use a server with this host; nobody is in it where it has no users."""
    return users_in(host.home)


def let_in(users: Users, address: str, *, anyone: bool = False, no_token: bool = False, behind_proxy: bool = False) -> Users | None:
    """Who is let in: the users there are, or None. A sentence where that would be the world, and nobody said so."""
    if users.all():
        if anyone:
            raise SettingsError("There are users, so that not anyone is let in; leave --anyone out, or remove them all.")
        if no_token:
            raise SettingsError("There are users, who each have a token; leave --no-token out, or remove them all.")
        return users
    if not anyone and (behind_proxy or not is_loopback(address)):
        where = "a server behind a proxy" if behind_proxy else address or "an empty address"
        raise SettingsError(
            f"Others can reach {where}, and there are no users yet. `treadle users add NAME` makes one;"
            " --anyone lets in whoever comes, who may then do everything."
        )
    return None


def listen(address: str = ADDRESS, port: int = PORT, *, anywhere: bool = False) -> socket.socket:
    """A socket on this machine's own address, or on any; port 0 picks one that is free."""
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
    """Whether only this machine itself can reach it."""
    place = _address(address)
    return place is not None and (place == IPv6Address("::1") if place.version == 6 else place.is_loopback)


def _address(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(ADDRESS if address.lower() == "localhost" else address)
    except ValueError:
        return None


def _anywhere(address: str) -> str:
    place = _address(address)
    if place is None:
        raise SettingsError(f"{address!r} is no IP address; write one of this machine's, 0.0.0.0 for all of them, or localhost.")
    return str(place)


def _loopback(address: str) -> str:
    if not is_loopback(address):
        raise SettingsError(
            f"{address or 'An empty address'} isn't this machine's own address, and anybody who reaches the server may use it;"
            " 127.0.0.1, ::1 and localhost are."
        )
    return str(_address(address))


def url_of(listening: socket.socket) -> str:
    """The address that a browser on this machine opens."""
    return f"http://{_host_of(listening)}:{listening.getsockname()[1]}/"


def hosts_of(listening: socket.socket) -> tuple[str, ...]:
    """The names that this server may be called by, unless it is told of more."""
    return (ADDRESS, "localhost", "[::1]", _host_of(listening))


def _host_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", name):
        raise SettingsError(
            f"{name!r} can't be a server's name; write it as treadle.example.org, without https:// and without a port."
        )
    return name.lower()


def _host_of(listening: socket.socket) -> str:
    bound: str = listening.getsockname()[0]
    place = LOOPBACKS[ip_address(bound).version] if ip_address(bound).is_unspecified else bound
    return f"[{place}]" if ":" in place else place


def _config(app: ASGIApp, grace: int, patient: Patience) -> uvicorn.Config:
    made = partial(Connection, patience=patient)
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", made),  # it is called like one
        limit_concurrency=patient.most + 1,  # where nobody can make room
        backlog=max(16, patient.most // 8),  # so many are taken at once, before anybody can make room for them
        log_config=None,  # whoever starts the server says where its log goes
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=grace,
    )


async def _door_closed(sockets: Sequence[socket.socket]) -> None:
    """Let nobody else in. Whoever is about to be let in has to be in before the sockets are closed: asyncio forgets them else."""
    for listening in sockets:
        asyncio.get_running_loop().remove_reader(listening)
    for _ in range(LET_IN):
        await asyncio.sleep(0)


class Server(uvicorn.Server):
    """Uvicorn, that says when it listens, ends as asked without dying of the signal, and ends in any case."""

    def __init__(
        self,
        app: ASGIApp,
        listening: socket.socket,
        on_listening: Listened | None = None,
        *,
        grace: int = GRACE,
        patient: Patience | None = None,
    ) -> None:
        self._stopping = Stopping(app)
        super().__init__(_config(self._stopping, grace, patient or patience()))
        self._url = url_of(listening)
        self._on_listening = on_listening
        self._grace = grace

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests, and say so."""
        await super().startup(sockets)
        if self._on_listening:
            self._on_listening(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more requests, and have those end that would go on."""
        self._stopping.begin()
        await _door_closed(sockets or [])
        await super().shutdown(sockets)

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
