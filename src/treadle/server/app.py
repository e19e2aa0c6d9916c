"""The application: the pages, what programs ask for, and whatever the assistants bring. It knows no socket; `serving` does.

Each person has one of their own, and their `Host` is what every assistant gets. Without users there is one person.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from tempfile import gettempdir
from typing import Any

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.app.assistant import Assistant, Host
from treadle.app.home import open_home
from treadle.core.errors import SettingsError, TreadleError
from treadle.routes import HandlerRoute
from treadle.server.access import AccessLog
from treadle.server.closing import close_all, close_one
from treadle.server.cors import Cors, origin_of
from treadle.server.doorman import Doorman
from treadle.server.errors import Caught, on_http_exception, on_treadle_error
from treadle.server.files import Folder
from treadle.server.knowing import FOR_OWNER
from treadle.server.login import COOKIE, SignInLink, login_routes
from treadle.server.models import Fetching
from treadle.server.pages import page_routes
from treadle.server.paths import Claim, check
from treadle.server.proxy import Forwarded
from treadle.server.ready import ready_routes
from treadle.server.security import Gate
from treadle.server.service import Service, Shared, make_shared
from treadle.server.tenants import Tenants, has_left, host_for
from treadle.stores.owner import OwnerAccess
from treadle.stores.people import LOCAL, Person
from treadle.stores.users import Users

STATIC = Path(__file__).with_name("static")
BODY_LIMIT = 64 * 1024 * 1024  # bytes
HANDLERS: dict[Any, Any] = {HTTPException: on_http_exception, TreadleError: on_treadle_error}


def create_app(
    assistants: Sequence[Assistant],
    host: Host,
    *,
    hosts: Sequence[str],
    by_address: bool = False,
    body_limit: int = BODY_LIMIT,
    users: Users | None = None,
    owner: OwnerAccess | None = None,
    link: SignInLink | None = None,
    cors: Sequence[str] = (),
    behind_proxy: bool = False,
    fetching: Fetching | None = None,
) -> Starlette:
    """The application for these assistants.

    hosts         the names it may be called by, without ports: `localhost`, `[::1]`
    by_address    whether it may be called by any IP address besides
    users         who may use it; without users and owner, whoever comes
    owner         the account that may use it, where there are no users; `link` signs a browser of theirs in
    cors          origins of pages elsewhere that may call it as programs do
    behind_proxy  whether a proxy says for whom it asks
    fetching      what knows of a model that is being fetched
    """
    around = [
        *([Middleware(Forwarded)] if behind_proxy else ()),
        Middleware(AccessLog),
        *([Middleware(Cors, origins=[origin_of(each) for each in cors])] if cors else ()),
        Middleware(Gate, hosts=hosts, by_address=by_address, body_limit=body_limit),
        Middleware(Caught),
    ]
    if users is not None:
        return _for_users(assistants, host, users, [*around, Middleware(Doorman, users=users)])
    if owner is None:
        return application(assistants, host, LOCAL, [*around, Middleware(Known, person=LOCAL)], close_all, make_shared(fetching))
    cookie = f"{COOKIE}_{sha256(owner.token.encode()).hexdigest()[:8]}"  # servers at other ports have the same cookies
    door = Middleware(Doorman, users=owner, refusals=FOR_OWNER, cookie=cookie)
    login = login_routes(owner, link=link or SignInLink(), cookie=cookie)
    return application(assistants, host, LOCAL, [*around, door], close_all, make_shared(fetching), login)


def _for_users(assistants: Sequence[Assistant], host: Host, users: Users, around: Sequence[Middleware]) -> Starlette:
    """An application for each of them, and before these what nobody has to be known for."""
    shared, caught = make_shared(), [Middleware(Caught)]
    tried = _tried(assistants, host, shared)

    tenants = Tenants(
        lambda person: application(assistants, host_for(host, person), person, caught, shared=shared),
        lambda: asyncio.to_thread(users.all),
        lambda person: has_left(host, person),
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with _closing(tried, close_all)(app), tenants.lifespan(app):
            yield

    routes = [*_open(host), *login_routes(users), Mount("", app=tenants)]
    return Starlette(routes=routes, middleware=around, exception_handlers=HANDLERS, lifespan=lifespan)


def _tried(assistants: Sequence[Assistant], host: Host, shared: Shared) -> list[Callable[[], object]]:
    """What is wrong with the routes is told before anybody comes: they are made once, for nobody, in a home that is soon gone."""
    folder = Path(gettempdir()) / f"treadle-tried-{token_hex(8)}"  # as a rule nobody makes it
    opened: list[Callable[[], object]] = [lambda: rmtree(folder, ignore_errors=True)]
    nobody = replace(host, home=open_home(folder / "home"), folder=folder / "work", at_end=opened.append)
    _routes(assistants, nobody, Service(assistants, nobody, LOCAL, shared).routes(tuple))
    return opened


def application(
    assistants: Sequence[Assistant],
    host: Host,
    person: Person,
    around: Sequence[Middleware] = (),
    last: Callable[[], Awaitable[None]] | None = None,
    shared: Shared | None = None,
    login: Sequence[BaseRoute] = (),
) -> Starlette:
    """What one person has. `last` is done when everything else is closed; `shared` is what all persons of a server share."""
    opened: list[Callable[[], object]] = []
    common = shared or make_shared()
    lent = replace(host, at_end=opened.append, observe=common.figures.turn)
    service = Service(assistants, lent, person, common)
    app = Starlette(
        routes=_routes(assistants, lent, [*login, *service.routes(lambda: app.routes)]),
        middleware=around,
        exception_handlers=HANDLERS,
        lifespan=_closing(opened, last, service.open),
    )
    return app


def _routes(assistants: Sequence[Assistant], host: Host, own: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Every route, in the order they are tried: a panel's files come last, so that its assistant may have routes among them."""
    claims = [Claim("", route) for route in (*page_routes(), *own, *_open(host))]
    for assistant in assistants:
        claims += [Claim(assistant.name, route) for route in _own(assistant, host)]
    claims += [Claim(assistant.name, route) for assistant in assistants for route in _panel(assistant)]
    check(claims)
    return [claim.route for claim in claims]


def _own(assistant: Assistant, host: Host) -> Sequence[BaseRoute]:
    """The routes of an assistant, of which those of handlers say whose they are."""
    routes: Sequence[BaseRoute] = assistant.routes(host) if assistant.routes else ()
    for route in routes:
        if isinstance(route, HandlerRoute):
            route.owner = assistant.name
    return routes


def _open(host: Host) -> list[BaseRoute]:
    """What nobody has to be known for."""
    return [*ready_routes(host), Mount("/static", Folder(directory=STATIC))]


def _panel(assistant: Assistant) -> list[BaseRoute]:
    if assistant.panel is None:
        return []
    folder = assistant.panel.folder
    if not (folder / "index.html").is_file():
        raise SettingsError(f"The panel of the assistant {assistant.name} needs an index.html, but there is none in {folder}.")
    return [Mount(f"/{assistant.name}", Folder(directory=folder, html=True))]


def _closing(
    opened: Sequence[Callable[[], object]],
    last: Callable[[], Awaitable[None]] | None,
    around: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext,
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """At the end, what assistants have opened is closed, the last first, and then what everybody shares."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        try:
            async with around():
                yield
        finally:
            for close in reversed(opened):
                await close_one(close)
            if last is not None:
                await last()

    return lifespan


class Known:
    """An ASGI layer that says of every request who asks: the one person there is."""

    def __init__(self, app: ASGIApp, *, person: Person) -> None:
        self._app = app
        self._person = person

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        scope["person"] = self._person
        await self._app(scope, receive, send)
