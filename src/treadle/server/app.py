"""The application: the page, what programs ask for, and whatever the assistants bring. It knows no socket; `serving` does.

One person uses it, and their `Host` is what every assistant gets.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from treadle.app.assistant import Assistant, Host
from treadle.core.errors import SettingsError, TreadleError
from treadle.server.closing import close_all, close_one
from treadle.server.errors import Caught, on_http_exception, on_treadle_error
from treadle.server.files import Folder
from treadle.server.pages import home_page, panel_path
from treadle.server.paths import Claim, check
from treadle.server.security import Gate
from treadle.server.stats import stats_routes

STATIC = Path(__file__).with_name("static")
BODY_LIMIT = 64 * 1024 * 1024  # bytes


def create_app(assistants: Sequence[Assistant], host: Host, *, hosts: Sequence[str], body_limit: int = BODY_LIMIT) -> Starlette:
    """The application for these assistants. `hosts` are the names it may be called by, without ports: `localhost`, `[::1]`."""
    opened: list[Callable[[], object]] = []
    return Starlette(
        routes=_routes(assistants, replace(host, at_end=opened.append)),
        middleware=[Middleware(Gate, hosts=hosts, body_limit=body_limit), Middleware(Caught)],
        exception_handlers={HTTPException: on_http_exception, TreadleError: on_treadle_error},
        lifespan=_closing(opened),
    )


def _routes(assistants: Sequence[Assistant], host: Host) -> list[BaseRoute]:
    """Every route, in the order they are tried: a panel's files come last, so that its assistant may have routes among them."""
    claims = [Claim("", route) for route in (*_own(assistants), *stats_routes(host.home))]
    for assistant in assistants:
        claims += [Claim(assistant.name, route) for route in (assistant.routes(host) if assistant.routes else ())]
    claims += [Claim(assistant.name, route) for assistant in assistants for route in _panel(assistant)]
    check(claims)
    return [claim.route for claim in claims]


def _own(assistants: Sequence[Assistant]) -> list[BaseRoute]:
    page, listed = home_page(assistants), [_told(assistant) for assistant in assistants]

    async def home(request: Request) -> Response:
        return HTMLResponse(page)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def told(request: Request) -> Response:
        return JSONResponse(listed)

    return [
        Route("/", home),
        Route("/health", health),
        Route("/api/assistants", told),
        Mount("/static", Folder(directory=STATIC)),
    ]


def _told(assistant: Assistant) -> dict[str, object]:
    """An assistant, as programs are told of it."""
    return {
        "name": assistant.name,
        "title": assistant.title,
        "summary": assistant.summary,
        "questions": assistant.questions,
        "panel": panel_path(assistant),
    }


def _panel(assistant: Assistant) -> list[BaseRoute]:
    if assistant.panel is None:
        return []
    folder = assistant.panel.folder
    if not (folder / "index.html").is_file():
        raise SettingsError(f"The panel of the assistant {assistant.name} needs an index.html, but there is none in {folder}.")
    return [Mount(f"/{assistant.name}", Folder(directory=folder, html=True))]


def _closing(opened: Sequence[Callable[[], object]]) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """At the end, what assistants have opened is closed, the last first, and then what everybody shares."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for close in reversed(opened):
                await close_one(close)
            await close_all()

    return lifespan
