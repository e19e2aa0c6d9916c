"""The ASGI application: pages, APIs, and the assistants' routes. It knows no socket; `uvicorn_server` does.

Each user has an application of their own, and their `Host` is what every assistant gets. Without users there is one
user.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from hashlib import sha256
from pathlib import Path, PurePath
from secrets import token_hex
from shutil import rmtree
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.agent.quotas import Quotas
from treadle.core.errors import SettingsError, TreadleError
from treadle.home import open_home
from treadle.plugins.assistant import Assistant, Host
from treadle.routes import HandlerRoute, routes_of
from treadle.server.access_log import AccessLogMiddleware
from treadle.server.api import ServerApi, ServerState, make_server_state
from treadle.server.auth import AuthMiddleware
from treadle.server.cleanup import close_resource, close_server_resources
from treadle.server.cors import CorsMiddleware, parse_cors_origin
from treadle.server.errors import ErrorMiddleware, handle_http_exception, handle_treadle_error
from treadle.server.health import health_routes
from treadle.server.login import COOKIE, SignInLink, login_routes
from treadle.server.models import DownloadTracker
from treadle.server.pages import page_routes
from treadle.server.proxy import ProxyHeadersMiddleware
from treadle.server.route_conflicts import RouteClaim, check_route_conflicts
from treadle.server.security import SecurityMiddleware
from treadle.server.tenants import TenantRouter, has_interrupted_runs, host_for_user
from treadle.server.user_cache import FOR_OWNER
from treadle.settings.loader import user_settings
from treadle.settings.schema import OidcSettings
from treadle.stores.accounts import LOCAL_OWNER, User
from treadle.stores.owner_access import OwnerAccess
from treadle.stores.users import Users

if TYPE_CHECKING:
    from treadle.server.oidc_login import OidcLoginApi

MEDIA_TYPES = {  # what a system says of these varies, and a browser runs no script of a wrong type
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}


class StaticFolder(StaticFiles):
    """Static files with their media types. Browsers cache them, and revalidate each time."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return the file, or 304 where it hasn't changed."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["cache-control"] = "no-cache"
        known = MEDIA_TYPES.get(PurePath(full_path).suffix.lower())
        if known and response.status_code != 304:
            response.headers["content-type"] = known
        return response


STATIC = Path(__file__).with_name("static")
BODY_LIMIT = 64 * 1024 * 1024  # bytes
EXCEPTION_HANDLERS: dict[Any, Any] = {HTTPException: handle_http_exception, TreadleError: handle_treadle_error}


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
    fetching: DownloadTracker | None = None,
    oidc: OidcSettings | None = None,
) -> Starlette:
    """Return the application for these assistants.

    hosts         the host names it may be called by, without ports: `localhost`, `[::1]`
    by_address    whether it may also be called by any IP address
    users         the users; without users and owner, there is no authentication
    owner         the account that may use it, where there are no users; `link` signs in a browser of theirs
    cors          origins of other pages that may call it as API clients do
    behind_proxy  whether a proxy says for whom it asks
    fetching      tracks a model that is being downloaded
    oidc          the identity provider that users can sign in with
    """
    around = [
        *([Middleware(ProxyHeadersMiddleware)] if behind_proxy else ()),
        Middleware(AccessLogMiddleware),
        *([Middleware(CorsMiddleware, origins=[parse_cors_origin(each) for each in cors])] if cors else ()),
        Middleware(SecurityMiddleware, hosts=hosts, by_address=by_address, body_limit=body_limit),
        Middleware(ErrorMiddleware),
    ]
    if users is not None:
        door = Middleware(AuthMiddleware, users=users)
        return _create_multi_user_app(assistants, host, users, [*around, door], oidc or OidcSettings())
    if owner is None:
        return create_user_app(
            assistants,
            host,
            LOCAL_OWNER,
            [*around, Middleware(UserMiddleware, person=LOCAL_OWNER)],
            close_server_resources,
            make_server_state(host, fetching),
        )
    cookie = f"{COOKIE}_{sha256(owner.token.encode()).hexdigest()[:8]}"  # servers at other ports have the same cookies
    door = Middleware(AuthMiddleware, users=owner, refusals=FOR_OWNER, cookie=cookie)
    login = login_routes(owner, link=link or SignInLink(), cookie=cookie)
    return create_user_app(
        assistants,
        host,
        LOCAL_OWNER,
        [*around, door],
        close_server_resources,
        make_server_state(host, fetching, is_authenticated=True),
        login,
    )


def _create_multi_user_app(
    assistants: Sequence[Assistant], host: Host, users: Users, around: Sequence[Middleware], oidc: OidcSettings
) -> Starlette:
    """Return an application that routes to one per user, with the public routes in front."""
    quotas = Quotas(user_settings().quotas, host.home, users.all)
    shared = replace(make_server_state(host, users=users, is_authenticated=True), quotas=quotas, home=host.home)
    caught = [Middleware(ErrorMiddleware)]
    tried = _check_routes(assistants, host, shared)

    tenants = TenantRouter(
        lambda person: create_user_app(assistants, host_for_user(host, person, quotas, users), person, caught, shared=shared),
        lambda: asyncio.to_thread(users.all),
        lambda person: has_interrupted_runs(host, person),
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with _make_lifespan(tried, close_server_resources)(app), tenants.lifespan(app):
            yield

    login = _make_provider_login(users, oidc) if oidc.issuer else None
    signing_in = login_routes(users, provider=oidc.title, sign_out_url=login.sign_out_url) if login else login_routes(users)
    at_provider = routes_of(login) if login else []
    routes = [*_public_routes(host), *signing_in, *at_provider, Mount("", app=tenants)]
    return Starlette(routes=routes, middleware=around, exception_handlers=EXCEPTION_HANDLERS, lifespan=lifespan)


def _make_provider_login(users: Users, settings: OidcSettings) -> "OidcLoginApi":
    """Return the handlers of a sign-in with the identity provider."""
    from treadle.server.oidc import SECRET_VARIABLE, OidcProvider, check_oidc
    from treadle.server.oidc_login import OidcLoginApi

    check_oidc(settings)
    provider = OidcProvider(settings, os.environ.get(SECRET_VARIABLE, ""))
    return OidcLoginApi(users, provider, settings, user_settings().server.public_url)


def _check_routes(assistants: Sequence[Assistant], host: Host, shared: ServerState) -> list[Callable[[], object]]:
    """Report problems with routes at startup: create them once, for no user, in a temporary home."""
    folder = Path(gettempdir()) / f"treadle-tried-{token_hex(8)}"  # as a rule it isn't created
    opened: list[Callable[[], object]] = [lambda: rmtree(folder, ignore_errors=True)]
    unused = replace(host, home=open_home(folder / "home"), folder=folder / "work", on_close=opened.append)
    _collect_routes(assistants, unused, ServerApi(assistants, unused, LOCAL_OWNER, shared).routes(tuple))
    return opened


def create_user_app(
    assistants: Sequence[Assistant],
    host: Host,
    person: User,
    around: Sequence[Middleware] = (),
    last: Callable[[], Awaitable[None]] | None = None,
    shared: ServerState | None = None,
    login: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return one user's application.

    `last` is called after everything else is closed; `shared` is the state that all users share.
    """
    opened: list[Callable[[], object]] = []
    common = shared or make_server_state(host)
    lent = replace(host, on_close=opened.append, observe=common.figures.turn)
    service = ServerApi(assistants, lent, person, common)
    app = Starlette(
        routes=_collect_routes(assistants, lent, [*login, *service.routes(lambda: app.routes)]),
        middleware=around,
        exception_handlers=EXCEPTION_HANDLERS,
        lifespan=_make_lifespan(opened, last, service.open),
    )
    return app


def _collect_routes(assistants: Sequence[Assistant], host: Host, own: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Return every route in matching order: a panel's files come last, so that its assistant may have routes among them."""
    claims = [RouteClaim("", route) for route in (*page_routes(), *own, *_public_routes(host))]
    for assistant in assistants:
        claims += [RouteClaim(assistant.name, route) for route in _assistant_routes(assistant, host)]
    claims += [RouteClaim(assistant.name, route) for assistant in assistants for route in _panel_routes(assistant)]
    check_route_conflicts(claims)
    return [claim.route for claim in claims]


def _assistant_routes(assistant: Assistant, host: Host) -> Sequence[BaseRoute]:
    """Return the routes of an assistant; those of typed handlers record their owner."""
    routes: Sequence[BaseRoute] = assistant.routes(host) if assistant.routes else ()
    for route in routes:
        if isinstance(route, HandlerRoute):
            route.owner = assistant.name
    return routes


def _public_routes(host: Host) -> list[BaseRoute]:
    """Return the routes that need no authentication."""
    return [*health_routes(host), Mount("/static", StaticFolder(directory=STATIC))]


def _panel_routes(assistant: Assistant) -> list[BaseRoute]:
    if assistant.panel is None:
        return []
    folder = assistant.panel.folder
    if not (folder / "index.html").is_file():
        raise SettingsError(f"The panel of the assistant {assistant.name} needs an index.html, but there is none in {folder}.")
    return [Mount(f"/{assistant.name}", StaticFolder(directory=folder, html=True))]


def _make_lifespan(
    opened: Sequence[Callable[[], object]],
    last: Callable[[], Awaitable[None]] | None,
    around: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext,
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return a lifespan that, at the end, closes what assistants have opened, the last first, and then what all users share."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        try:
            async with around():
                yield
        finally:
            for close in reversed(opened):
                await close_resource(close)
            if last is not None:
                await last()

    return lifespan


class UserMiddleware:
    """ASGI middleware that sets the single user on every request."""

    def __init__(self, app: ASGIApp, *, person: User) -> None:
        self._app = app
        self._person = person

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the user and pass the request on."""
        scope["person"] = self._person
        await self._app(scope, receive, send)
