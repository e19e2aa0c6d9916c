"""The tools of an MCP server as a toolset: entering it connects and lists; a call uses the connection of its user.

A connection is shared by all calls with the same credentials of the same user, and never by two users who have credentials.
"""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import SettingsError, ToolProblem
from treadle.core.log import log
from treadle.core.tool import Tool
from treadle.http_guard.resolver import HostLookup, resolve_host
from treadle.toolsets.mcp.offers import AdvertisedTool, ApprovalStore, OfferedTool, build_offers
from treadle.toolsets.mcp.server import McpServer, ServerValues, fill_for_listing, fill_server

if TYPE_CHECKING:
    from treadle.toolsets.mcp.connection import McpConnection

MAX_CONNECTIONS = 16  # of users to one server; beyond that, the one that was used longest ago is closed


def mcp_tools(
    server: McpServer,
    *,
    approved: ApprovalStore | None = None,
    credentials: Mapping[str, str] | None = None,
    lookup: HostLookup = resolve_host,
) -> "McpTools":
    """Return the toolset of a server. Needs `pip install 'treadle[mcp]'`.

    approved     where approved descriptions are stored; without it, tools are accepted as advertised
    credentials  used for listing tools where that needs any; calls use those of their own user
    lookup       how a host is resolved; by the system's resolver by default
    """
    return McpTools(server, approved, credentials or {}, lookup)


class McpTools:
    """A server's tools. Entered by several runs at once, it is connected once, until the last of them exits."""

    def __init__(
        self, server: McpServer, approved: ApprovalStore | None, credentials: Mapping[str, str], lookup: HostLookup = resolve_host
    ) -> None:
        self._server = server
        self._lookup = lookup
        self._approved = approved
        self._credentials = credentials
        self._told: list[AdvertisedTool] = []  # what the offers were made of
        self._offers: dict[str, OfferedTool] = {}
        self._tools: tuple[Tool, ...] = ()
        self._entered = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lister: ServerValues | None = None  # whose connection says what is offered
        self._connections: dict[ServerValues, McpConnection] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"McpTools({self._server.name!r})"

    async def __aenter__(self) -> "McpTools":
        self._check_loop()
        self._entered += 1
        try:
            await self._connect_and_list()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._entered -= 1
        if self._entered:
            return
        for connection in self._connections.values():
            self._close(connection)
        self._connections = {}
        while self._closing:
            await asyncio.wait(self._closing)

    def tools(self) -> tuple[Tool, ...]:
        """Return the offered tools as last listed; the same value as long as nothing changes."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call a tool of the server on behalf of the context's user. Its structured content is the data of the result."""
        from treadle.toolsets.mcp.connection import call_problem, tool_error_problem
        from treadle.toolsets.mcp.content import to_tool_result

        offer = self._offers.get(call.name)
        if offer is None or not self._entered:
            raise ToolProblem(f"The MCP server {self._server.name} doesn't offer {call.name} now.")
        values = fill_server(self._server, context.credentials, context.user)
        connection = await self._connect(values)
        self._check_approved(call.name, connection)
        try:
            result = await connection.call(offer.told.name, call.arguments, context.progress)
        except Exception as error:  # noqa: BLE001 - whatever a server makes the SDK raise is a problem for the model
            raise call_problem(self._server, values, connection, offer.tool, error) from None
        if result.is_error:
            raise tool_error_problem(self._server, values, offer.tool, result)
        return to_tool_result(result)

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._entered and self._loop is not loop:
            raise SettingsError(f"The tools of the MCP server {self._server.name} are in use in another event loop; make others.")
        self._loop = loop

    # what is offered

    async def _connect_and_list(self) -> None:
        """Connect and list the tools, unless that is done already."""
        self._lister = values = self._fill_for_listing()
        connection = await self._open_connection(values)
        if not connection.is_open:
            from treadle.toolsets.mcp.connection import connection_error

            raise connection_error(self._server, values, connection)
        self._update_offers()

    def _fill_for_listing(self) -> ServerValues:
        try:
            return fill_for_listing(self._server, self._credentials)
        except ToolProblem as problem:
            raise SettingsError(str(problem)) from None

    def _on_listed(self) -> None:
        """Update the offers after a listing."""
        try:
            self._update_offers()
        except SettingsError as error:  # entering the toolset says it aloud
            log.warning("What the MCP server %s offers can't be renewed: %s", self._server.name, error)

    def _update_offers(self) -> None:
        """Offer what the server advertises now, as far as it is approved."""
        lister = None if self._lister is None else self._connections.get(self._lister)
        if lister is None:
            return
        told = list(lister.told.values())
        if self._approved is not None:
            told = self._approved.review(self._server.name, told)
        if told != self._told:
            self._told, self._offers = told, build_offers(self._server, told)
            self._tools = tuple([offer.tool for offer in self._offers.values()])

    def _check_approved(self, name: str, connection: "McpConnection") -> None:
        """Check that the called tool is the one that was approved, perhaps just now."""
        offer = self._offers.get(name)
        told = None if offer is None else connection.told.get(offer.told.name)
        if told is None:
            raise ToolProblem(f"The MCP server {self._server.name} doesn't have {name} any more.")
        if self._approved is None or self._is_as_approved(name, told):
            return
        self._update_offers()
        if not self._is_as_approved(name, told):
            raise ToolProblem(
                f"Not called: the MCP server {self._server.name} has changed what it says of {name} since it was approved."
                " The user must review the change and approve it first; say so."
            )

    def _is_as_approved(self, name: str, told: AdvertisedTool) -> bool:
        return name in self._offers and self._offers[name].told.fingerprint == told.fingerprint

    # connections

    async def _connect(self, values: ServerValues) -> "McpConnection":
        """Return an open connection with these values: the existing one, if the server is still there, else a new one."""
        from treadle.toolsets.mcp.connection import unreachable_problem

        connection = await self._open_connection(values)
        if connection.doubtful and not await connection.is_there():
            self._drop(values, connection)
            connection = await self._open_connection(values)
        if not connection.is_open:
            raise unreachable_problem(self._server, connection)
        return connection

    async def _open_connection(self, values: ServerValues) -> "McpConnection":
        """Return the connection with these values, open unless that failed."""
        connection = self._connections.pop(values, None)
        if connection is not None and connection.is_over:
            self._close(connection)
            connection = None
        if connection is None:
            connection = _import_connection()(self._server, values, self._on_listed, self._lookup)
        self._connections[values] = connection  # at the end: it is the one used last now
        self._evict_idle()
        await connection.wait_open()
        return connection

    def _evict_idle(self) -> None:
        """Close the least recently used connections, if there are too many and no calls are in progress over them."""
        for values, connection in list(self._connections.items())[:-1]:
            if len(self._connections) > MAX_CONNECTIONS and values != self._lister and connection.is_idle:
                self._drop(values, connection)

    def _drop(self, values: ServerValues, connection: "McpConnection") -> None:
        if self._connections.get(values) is connection:
            del self._connections[values]
            self._close(connection)

    def _close(self, connection: "McpConnection") -> None:
        """Close it in the background; exiting the toolset waits for that."""
        closing = asyncio.create_task(connection.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


def _import_connection() -> "type[McpConnection]":
    try:
        from treadle.toolsets.mcp.connection import McpConnection
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("anyio", "mcp", "mcp_types"):  # it comes with mcp, and is imported first
            raise SettingsError("Tools of MCP servers need the package mcp: pip install 'treadle[mcp]'") from error
        raise
    return McpConnection
