"""One session with an MCP server, and the messages of its errors: for the user who configured it, and for the model.

A session is opened, held and closed by its own task, because the SDK requires a single task; calls come from any task. A session
that has ended stays so; `toolset` opens another.

Secrets are masked in all messages. The server's own words are quoted unless it is trusted.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, cast

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult, Implementation
from mcp.types import Tool as McpTool
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from treadle._version import __version__
from treadle.core.errors import SettingsError, ToolProblem
from treadle.core.tool import Tool
from treadle.guard.redaction import Redactor
from treadle.http_guard.resolver import HostLookup, resolve_host
from treadle.toolsets.mcp.content import format_progress, result_to_text, shorten_middle
from treadle.toolsets.mcp.offers import AdvertisedTool
from treadle.toolsets.mcp.server import McpServer, ServerValues
from treadle.toolsets.mcp.transport import RequestBlocked, TransportEvents, open_transport

MAX_PAGES = 200  # of tools; a server that has no end is none to wait for
PROBE_TIMEOUT = 5.0  # seconds in which a server that was silent has to show that it is there
CLOSE_TIMEOUT = 10.0  # seconds that closing may take; the SDK kills what doesn't end before
MAX_QUOTE = 4000  # characters of what a server says about an error
GONE_STATUSES = (404, 410)  # how a server says over HTTP that it knows nothing of the session


for _name in ("mcp", "client"):  # the SDK's logs; they are for developers who ask for them, not for a terminal
    logging.getLogger(_name).addHandler(logging.NullHandler())


class McpConnection:
    """A session. `told` holds the server's tool descriptions by name; `on_listed` is called after each new listing."""

    def __init__(
        self, server: McpServer, filled: ServerValues, on_listed: Callable[[], None], lookup: HostLookup = resolve_host
    ) -> None:
        self.told: dict[str, AdvertisedTool] = {}
        self.doubtful = False  # it was silent once; asked for its tools, it has to answer
        self.news = TransportEvents(self._wake)
        self.failure: BaseException | None = None
        self._server = server
        self._filled = filled
        self._on_listed = on_listed
        self._lookup = lookup
        self._client: Client | None = None
        self._woken = asyncio.Event()
        self._ready = asyncio.Event()
        self._listening = asyncio.Event()
        self._waiting, self._calls = 0, 0  # how many are under way
        self._changed = False
        self._leaving = False
        self._task = asyncio.create_task(self._run(), name=f"mcp {server.name}")

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._client is not None and not self._leaving

    @property
    def is_over(self) -> bool:
        """Whether no more calls can be made."""
        return self._leaving or (self._ready.is_set() and self._client is None)

    @property
    def is_idle(self) -> bool:
        """Whether no task waits for anything of it."""
        return not self._waiting and not self._calls

    async def wait_open(self) -> None:
        """Wait until it is open or over; `failure` then says why. If the last waiting task is cancelled, it is given up."""
        self._waiting += 1
        try:
            async with asyncio.timeout(self._server.starting):
                await self._ready.wait()
        except TimeoutError as error:
            self.failure = error
            self.leave()
        except asyncio.CancelledError:
            if self._waiting == 1:
                self.leave()
            raise
        finally:
            self._waiting -= 1

    async def call(self, name: str, arguments: dict[str, Any], tell: Callable[[str], None]) -> CallToolResult:
        """Call a tool. The SDK's exceptions propagate; no response raises `TimeoutError`; cancelling the task cancels the call."""
        assert self._client is not None  # callers have waited until it was open
        self.news.refused = 0
        patience = self._server.timeout
        with anyio.fail_after(patience) as waiting:

            async def heard(progress: float, total: float | None, message: str | None) -> None:
                waiting.deadline = anyio.current_time() + patience
                tell(format_progress(progress, total, message))

            self._calls += 1
            try:
                return await self._client.call_tool(name, arguments, progress_callback=heard)
            finally:
                self._calls -= 1

    async def is_there(self) -> bool:
        """Request the tools of a server that was silent, with a short timeout."""
        if self._client is None:
            return False
        try:
            with anyio.fail_after(PROBE_TIMEOUT):
                await self._list(self._client)
        except (TimeoutError, MCPError, ValueError):
            return False
        self.doubtful = False
        return True

    async def close(self) -> None:
        """Close it, and end the program with it."""
        self.leave()
        await asyncio.wait([self._task], timeout=CLOSE_TIMEOUT)

    def leave(self) -> None:
        """Start closing it."""
        if not self._ready.is_set() and not self._leaving:
            self._task.cancel()  # once: a second one would keep the SDK from ending the program
        self._leaving = True
        self._woken.set()

    # in its own task

    async def _run(self) -> None:
        try:
            await self._run_session()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - whatever a server makes the SDK raise, others word it
            self.failure = self.failure or error
        finally:
            self._client = None
            self._ready.set()

    async def _run_session(self) -> None:
        me = Implementation(name="treadle", version=__version__)
        streams = open_transport(self._server, self._filled, self.news, self._lookup)
        async with Client(streams, cache=None, client_info=me, message_handler=self._on_message) as client:
            listening = asyncio.create_task(self._listen(client))
            try:
                await self._listening.wait()  # first, or a change right after the listing would go unheard
                await self._list(client)
                self._client = client
                self._ready.set()
                await self._serve(client)
            finally:
                self._client = None
                listening.cancel()

    async def _serve(self, client: Client) -> None:
        """Wait for the end, and list the tools again whenever they have changed."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            if not self._changed:
                return  # the end, ours or the server's
            self._changed = False
            with anyio.fail_after(self._server.starting):
                await self._list(client)

    def _wake(self) -> None:
        self._leaving = True
        self._woken.set()

    async def _on_message(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed" and not self._leaving:
            self._changed = True
            self._woken.set()

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes, if the server doesn't send them by itself. If that fails, the next listing shows them."""
        tools = client.server_capabilities.tools
        try:
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools is not None and tools.list_changed:
                async with client.listen(tools_list_changed=True) as changes:
                    self._listening.set()
                    async for _ in changes:
                        self._changed = True
                        self._woken.set()
        except (MCPError, RuntimeError, TimeoutError):
            return
        finally:
            self._listening.set()

    async def _list(self, client: Client) -> None:
        """List the tools, all pages."""
        told: dict[str, AdvertisedTool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                told.setdefault(tool.name, _to_advertised(tool))
            cursor = page.next_cursor
            if not cursor:
                self.told = told
                self._on_listed()
                return
        raise ValueError(f"more than {MAX_PAGES} pages of tools")


def _to_advertised(tool: McpTool) -> AdvertisedTool:
    hints = tool.annotations.model_dump(by_alias=True, exclude_none=True, mode="json") if tool.annotations else {}
    return AdvertisedTool(tool.name, tool.description or "", tool.input_schema, hints)


def connection_error(server: McpServer, filled: ServerValues, connection: McpConnection) -> SettingsError:
    """Build the error for the user: why a server's tools are unavailable."""
    words = f"The MCP server {server.name} {_explain(server, connection)}."
    said = connection.news.stderr.decode(errors="replace").strip()
    masked = _redactor(filled).text(said)
    return SettingsError(f"{words} Its last words: {masked}" if masked else words)


def unreachable_problem(server: McpServer, connection: McpConnection) -> ToolProblem:
    """Build the problem for the model: why a call can't be made."""
    return ToolProblem(
        f"Not called: the MCP server {server.name} {_explain(server, connection)}. Do without it, or try again later."
    )


def call_problem(server: McpServer, filled: ServerValues, connection: McpConnection, tool: Tool, error: Exception) -> ToolProblem:
    """Build the problem for the model: why a call failed. Also marks the connection as doubtful, or starts closing it."""
    after = "" if tool.effect == "read" else " The call may or may not have taken effect."
    if isinstance(error, TimeoutError):
        connection.doubtful = True
        return ToolProblem(f"{tool.name} gave no answer for {server.timeout:g} seconds and was given up.{after}")
    if is_connection_lost(connection, error):
        connection.leave()
        return ToolProblem(f"The MCP server {server.name} has gone during the call.{after} The next call connects again.")
    if connection.news.refused in (401, 403):
        return ToolProblem(f"The MCP server {server.name} refused the call: the credentials that were sent don't allow it.")
    if isinstance(error, MCPError):
        return _quote(f"The MCP server {server.name} refused the call: ", error.message, server, filled)
    connection.doubtful = True
    return ToolProblem(f"The answer of the MCP server {server.name} can't be read ({type(error).__name__}).{after}")


def tool_error_problem(server: McpServer, filled: ServerValues, tool: Tool, result: CallToolResult) -> ToolProblem:
    """Build the problem for the model from the error that the tool itself reports."""
    return _quote(f"{tool.name} failed: ", result_to_text(result) or "it does not say why.", server, filled)


def is_connection_lost(connection: McpConnection, error: Exception) -> bool:
    """Return whether no further call can be made over this connection."""
    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or connection.news.refused in GONE_STATUSES
    return any(isinstance(each, OSError | httpx2.TransportError) for each in _flatten_errors(error))


def _quote(words: str, text: str, server: McpServer, filled: ServerValues) -> ToolProblem:
    said = _redactor(filled).text(shorten_middle(text.strip(), MAX_QUOTE))
    return ToolProblem(words + said) if server.trusted else ToolProblem(words, said)


def _redactor(filled: ServerValues) -> Redactor:
    return Redactor(known_secrets=filled.secrets)


def _explain(server: McpServer, connection: McpConnection) -> str:
    """Return why a connection isn't open, as the rest of a sentence about the server."""
    errors = list(_flatten_errors(connection.failure))
    statuses = [error.response.status_code for error in errors if isinstance(error, httpx2.HTTPStatusError)]
    refused = connection.news.refused or next(iter(statuses), 0)
    if refused in (401, 403):
        return "refuses the credentials that were sent"
    if any(isinstance(error, TimeoutError | httpx2.TimeoutException) for error in errors):
        return f"doesn't answer within {server.starting:g} seconds"
    unsafe = next((error for error in errors if isinstance(error, RequestBlocked)), None)
    if unsafe is not None:
        return f"isn't asked. {str(unsafe).rstrip('.')}"
    if any(isinstance(error, httpx2.TransportError) for error in errors):
        return f"can't be reached at {_public_url(server)}"
    for error in errors:
        if isinstance(error, OSError):
            return (
                f"can't be started: {server.command[0] if server.command else _public_url(server)}: {error.strerror or 'refused'}"
            )
    if refused:
        return f"answers with the status {refused}"
    if any(isinstance(error, MCPError) and error.code == CONNECTION_CLOSED for error in errors) or not errors:
        return "ended before it had answered" if server.command else "closed the connection"
    return f"doesn't speak MCP as it should ({type(errors[-1]).__name__})"


def _public_url(server: McpServer) -> str:
    """Return the URL without parts that may be secret."""
    return httpx2.URL(server.url).copy_with(userinfo=b"", query=None, fragment=None).__str__()


def _flatten_errors(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, or those in an exception group."""
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _flatten_errors(each)
    elif error is not None:
        yield error
