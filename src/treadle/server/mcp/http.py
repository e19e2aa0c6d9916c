"""MCP over HTTP, in the server: `/mcp` for the tools of all assistants, `/mcp/NAME` for those of one.

A place is opened when somebody first comes to it. Who may come, and by which name, is seen to before: `security`, `doorman`.
"""

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from treadle.app.assistant import Assistant, Host
from treadle.routes import EVENTS, Returns, delete, get, post, routes_of
from treadle.server.metrics import Figures

if TYPE_CHECKING:
    from treadle.server.mcp.offering import Offering

PATH = "/mcp"
MISSING = "Tools over MCP need the package mcp, which isn't installed here: pip install 'treadle[mcp]'"


class McpMessage(Struct, frozen=True):
    """A message of JSON-RPC: a request (`id` and `method`), a notification (`method`), or an answer (`id` and its content)."""

    jsonrpc: Literal["2.0"]
    method: str = ""
    id: int | str | None = None
    params: dict[str, Any] = {}
    result: dict[str, Any] = {}
    error: dict[str, Any] = {}


class McpProblem(Struct, frozen=True):
    """What went wrong: of the protocol, an `error` with a `code` and a `message`; of the server, a sentence."""

    error: dict[str, Any] | str
    jsonrpc: str = ""
    id: int | str | None = None
    success: bool = False
    detail: str = ""


SESSION = {"mcp-session-id": "which conversation it belongs to; none begins one"}
COMMON = {
    404: "there is no such conversation any more",
    406: "`Accept` has to name application/json and text/event-stream",
    501: "the package that speaks MCP isn't installed",
    503: "too many conversations are open",
}
Answered = Annotated[Response, Returns(200, "the answer, after what it tells on the way", body=McpMessage)]
Streamed = Annotated[Response, Returns(200, "the same as events", EVENTS, dict[str, Any])]
Taken = Annotated[Response, Returns(202, "it was taken, and needs no answer")]
Heard = Annotated[Response, Returns(200, "messages, each a line of JSON", EVENTS, McpMessage)]
Over = Annotated[Response, Returns(200, "it is over")]


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
    return routes_of(place, prefix=path)


class Place:
    """One address, which begins with its first request. What is said there the SDK reads and answers by itself."""

    def __init__(self, offering: "Callable[[], Offering]") -> None:
        self._offering = offering
        self._opened: _Opened | None = None

    @post(accepts=McpMessage, headers=SESSION, errors=COMMON, problem=McpProblem)
    async def say(self, request: Request) -> Answered | Streamed | Taken:
        """A message of the Model Context Protocol, over streamable HTTP."""
        if not request.headers.get("content-type", "").lower().startswith("application/json"):
            raise HTTPException(415, "Send JSON here, with the content type application/json.")
        return self._response()

    @get(headers=SESSION, errors={409: "somebody listens already", **COMMON}, problem=McpProblem)
    async def hear(self) -> Heard:
        """What the server has to say by itself in a conversation."""
        return self._response()

    @delete(headers=SESSION, errors=COMMON, problem=McpProblem)
    async def end(self) -> Over:
        """End a conversation."""
        return self._response()

    def _response(self) -> Response:
        if not find_spec("mcp"):
            raise HTTPException(501, MISSING)
        if self._opened is None:
            self._opened = _Opened(self._offering())
        return _BySdk(self._opened)

    async def close(self) -> None:
        """End all conversations."""
        if self._opened is not None:
            await self._opened.close()


class _BySdk(Response):
    """A response that the SDK makes of the request."""

    def __init__(self, opened: "_Opened") -> None:
        super().__init__()
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the SDK answer."""
        await self._opened.answer(scope, receive, send)


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
