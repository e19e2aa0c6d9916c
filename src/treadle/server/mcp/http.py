"""MCP over HTTP, in the server: `/mcp` for the tools of all assistants, `/mcp/NAME` for those of one.

An endpoint is opened at its first request. Authentication and host checks come before: `security`, `auth`.
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

from treadle.plugins.assistant import Assistant, Host
from treadle.routes import EVENTS, Returns, delete, get, post, routes_of
from treadle.server.metrics import ServerMetrics

if TYPE_CHECKING:
    from treadle.server.mcp.offering import Offering

PATH = "/mcp"
MISSING = "Tools over MCP need the package mcp, which isn't installed here: pip install 'treadle[mcp]'"


class McpMessage(Struct, frozen=True):
    """A JSON-RPC message: a request (`id` and `method`), a notification (`method`), or a response (`id` and its content)."""

    jsonrpc: Literal["2.0"]
    method: str = ""
    id: int | str | None = None
    params: dict[str, Any] = {}
    result: dict[str, Any] = {}
    error: dict[str, Any] = {}


class McpProblem(Struct, frozen=True):
    """An error: of the protocol, an `error` with a `code` and a `message`; of the server, a sentence."""

    error: dict[str, Any] | str
    jsonrpc: str = ""
    id: int | str | None = None
    success: bool = False
    detail: str = ""


SESSION_HEADERS = {"mcp-session-id": "which conversation it belongs to; none begins one"}
COMMON_ERRORS = {
    404: "there is no such conversation any more",
    406: "`Accept` has to name application/json and text/event-stream",
    501: "the package that speaks MCP isn't installed",
    503: "too many conversations are open",
}
MessageResponse = Annotated[Response, Returns(200, "the answer, after what it tells on the way", body=McpMessage)]
EventResponse = Annotated[Response, Returns(200, "the same as events", EVENTS, dict[str, Any])]
AcceptedResponse = Annotated[Response, Returns(202, "it was taken, and needs no answer")]
MessageStream = Annotated[Response, Returns(200, "messages, each a line of JSON", EVENTS, McpMessage)]
SessionEnded = Annotated[Response, Returns(200, "it is over")]


def mcp_routes(assistants: Sequence[Assistant], host: Host, figures: ServerMetrics) -> list[BaseRoute]:
    """Return the endpoints of one user, whose calls are counted."""

    def every() -> "Offering":
        from treadle.server.mcp.assistants import offer_assistants

        return offer_assistants(assistants, host, figures)

    ones = [
        route for each in assistants for route in _endpoint_routes(f"{PATH}/{each.name}", _lazy_offering(each, host, figures), host)
    ]
    return [*_endpoint_routes(PATH, every, host), *ones]


def _lazy_offering(assistant: Assistant, host: Host, figures: ServerMetrics) -> "Callable[[], Offering]":
    def offering() -> "Offering":
        from treadle.server.mcp.assistants import offer_assistant

        return offer_assistant(assistant, host, figures)

    return offering


def _endpoint_routes(path: str, offering: "Callable[[], Offering]", host: Host) -> list[BaseRoute]:
    place = McpEndpoint(offering)
    host.on_close(place.close)
    return routes_of(place, prefix=path)


class McpEndpoint:
    """One MCP endpoint, which is opened at its first request. The SDK reads and answers the messages."""

    def __init__(self, offering: "Callable[[], Offering]") -> None:
        self._offering = offering
        self._opened: _SdkSessions | None = None

    @post(accepts=McpMessage, headers=SESSION_HEADERS, errors=COMMON_ERRORS, problem=McpProblem)
    async def say(self, request: Request) -> MessageResponse | EventResponse | AcceptedResponse:
        """Send a message of the Model Context Protocol, over streamable HTTP."""
        if not request.headers.get("content-type", "").lower().startswith("application/json"):
            raise HTTPException(415, "Send JSON here, with the content type application/json.")
        return self._response()

    @get(headers=SESSION_HEADERS, errors={409: "another client listens already", **COMMON_ERRORS}, problem=McpProblem)
    async def hear(self) -> MessageStream:
        """Stream the server's own messages of a session."""
        return self._response()

    @delete(headers=SESSION_HEADERS, errors=COMMON_ERRORS, problem=McpProblem)
    async def end(self) -> SessionEnded:
        """End a session."""
        return self._response()

    def _response(self) -> Response:
        if not find_spec("mcp"):
            raise HTTPException(501, MISSING)
        if self._opened is None:
            self._opened = _SdkSessions(self._offering())
        return _SdkResponse(self._opened)

    async def close(self) -> None:
        """End all sessions."""
        if self._opened is not None:
            await self._opened.close()


class _SdkResponse(Response):
    """A response that the SDK makes from the request."""

    def __init__(self, opened: "_SdkSessions") -> None:
        super().__init__()
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the SDK respond."""
        await self._opened.answer(scope, receive, send)


class _SdkSessions:
    """The SDK's sessions, and the task that holds them open: what is opened in a task is closed in it."""

    def __init__(self, offering: "Offering") -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from treadle.server.mcp.server import make_mcp_server

        self._sessions = StreamableHTTPSessionManager(make_mcp_server(offering))
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            async with self._sessions.run():
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()  # waiting callers get the error from their request

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, once sessions are open."""
        await self._ready.wait()
        await self._sessions.handle_request(scope, receive, send)

    async def close(self) -> None:
        """Close the sessions."""
        self._over.set()
        await asyncio.wait([self._task])
