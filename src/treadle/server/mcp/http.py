"""MCP over HTTP, in the server: `/mcp` for the tools of all assistants, `/mcp/NAME` for those of one.

A place is opened when somebody first comes to it. Who may come, and by which name, is seen to before: `security`, `doorman`.
"""

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from treadle.app.assistant import Assistant, Host
from treadle.routes import Described, together
from treadle.server.mcp.operations import DELETE, GET, POST
from treadle.server.metrics import Figures

if TYPE_CHECKING:
    from treadle.server.mcp.offering import Offering

PATH = "/mcp"
MISSING = "Tools over MCP need the package mcp, which isn't installed here: pip install 'treadle[mcp]'"


def mcp_routes(assistants: Sequence[Assistant], host: Host, figures: Figures) -> list[BaseRoute]:
    """The places for one person, whose calls are counted."""

    def every() -> "Offering":
        from treadle.server.mcp.assistants import together

        return together(assistants, host, figures)

    ones = [route for each in assistants for route in _routes(f"{PATH}/{each.name}", _one(each, host, figures), host)]
    return [*_routes(PATH, every, host), *ones]


def _one(assistant: Assistant, host: Host, figures: Figures) -> "Callable[[], Offering]":
    def offering() -> "Offering":
        from treadle.server.mcp.assistants import one

        return one(assistant, host, figures)

    return offering


def _routes(path: str, offering: "Callable[[], Offering]", host: Host) -> list[BaseRoute]:
    place = Place(offering)
    host.at_end(place.close)
    operations = {"POST": POST, "GET": GET, "DELETE": DELETE}
    return together([Described(path, place, operation, method) for method, operation in operations.items()])


class Place:
    """One address: an ASGI application that begins with its first request."""

    def __init__(self, offering: "Callable[[], Offering]") -> None:
        self._offering = offering
        self._opened: _Opened | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if not find_spec("mcp"):
            raise HTTPException(501, MISSING)
        if scope["method"] == "POST" and not Headers(scope=scope).get("content-type", "").lower().startswith("application/json"):
            raise HTTPException(415, "Send JSON here, with the content type application/json.")
        if self._opened is None:
            self._opened = _Opened(self._offering())
        await self._opened.answer(scope, receive, send)

    async def close(self) -> None:
        """End all conversations."""
        if self._opened is not None:
            await self._opened.close()


class _Opened:
    """The SDK's sessions, and the task that holds them open: what is opened in a task is closed in it."""

    def __init__(self, offering: "Offering") -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from treadle.server.mcp.serving import make_server

        self._sessions = StreamableHTTPSessionManager(make_server(offering))
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        try:
            async with self._sessions.run():
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()  # whoever waits hears from the request what is wrong

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, once sessions can be held."""
        await self._ready.wait()
        await self._sessions.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End them."""
        self._over.set()
        await asyncio.wait([self._task])
