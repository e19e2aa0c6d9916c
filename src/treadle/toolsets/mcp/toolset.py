"""The tools of an MCP server as a toolset: entered, it connects and lists; a call goes over the connection of whoever it is for.

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
from treadle.toolsets.mcp.approved import Approved
from treadle.toolsets.mcp.server import Filled, Server, filled, filled_for_listing
from treadle.toolsets.mcp.told import Offer, Told, offers
from treadle.toolsets.outbound.resolving import Lookup, look_up

if TYPE_CHECKING:
    from treadle.toolsets.mcp.connection import Connection

MOST_CONNECTIONS = 16  # of users to one server; beyond that, the one that was used longest ago is closed


def mcp_tools(
    server: Server, *, approved: Approved | None = None, credentials: Mapping[str, str] | None = None, lookup: Lookup = look_up
) -> "McpTools":
    """The toolset of a server. Needs `pip install 'treadle[mcp]'`.

    approved     where approved descriptions are kept; without it, tools are taken as the server tells of them
    credentials  with which tools are listed where that needs any; calls are made with those of whoever they are for
    lookup       how a host is resolved; as the system does it unless you say otherwise
    """
    return McpTools(server, approved, credentials or {}, lookup)


class McpTools:
    """A server's tools. Entered by several runs at once, it is connected once, until the last of them leaves."""

    def __init__(self, server: Server, approved: Approved | None, credentials: Mapping[str, str], lookup: Lookup = look_up) -> None:
        self._server = server
        self._lookup = lookup
        self._approved = approved
        self._credentials = credentials
        self._told: list[Told] = []  # what the offers were made of
        self._offers: dict[str, Offer] = {}
        self._tools: tuple[Tool, ...] = ()
        self._entered = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lister: Filled | None = None  # whose connection says what is offered
        self._connections: dict[Filled, Connection] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"McpTools({self._server.name!r})"

    async def __aenter__(self) -> "McpTools":
        self._check_loop()
        self._entered += 1
        try:
            await self._list()
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
        """What it offers, as it was listed last; the same value as long as nothing changes."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Call a tool of the server on behalf of whoever the context is of. Its structured content is the data of the result."""
        from treadle.toolsets.mcp.content import value_of
        from treadle.toolsets.mcp.problems import failed, reported

        offer = self._offers.get(call.name)
        if offer is None or not self._entered:
            raise ToolProblem(f"The MCP server {self._server.name} doesn't offer {call.name} now.")
        values = filled(self._server, context.credentials, context.user)
        connection = await self._connected(values)
        self._check(call.name, connection)
        try:
            result = await connection.call(offer.told.name, call.arguments, context.progress)
        except Exception as error:  # noqa: BLE001 - whatever a server makes the SDK raise is a problem for the model
            raise failed(self._server, values, connection, offer.tool, error) from None
        if result.is_error:
            raise reported(self._server, values, offer.tool, result)
        return value_of(result)

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._entered and self._loop is not loop:
            raise SettingsError(f"The tools of the MCP server {self._server.name} are in use in another event loop; make others.")
        self._loop = loop

    # what is offered

    async def _list(self) -> None:
        """Connect and list the tools, unless that is so already."""
        self._lister = values = self._for_listing()
        connection = await self._open(values)
        if not connection.is_open:
            from treadle.toolsets.mcp.problems import not_opened

            raise not_opened(self._server, values, connection)
        self._offer()

    def _for_listing(self) -> Filled:
        try:
            return filled_for_listing(self._server, self._credentials)
        except ToolProblem as problem:
            raise SettingsError(str(problem)) from None

    def _listed(self) -> None:
        """A server was asked for its tools, at whatever time."""
        try:
            self._offer()
        except SettingsError as error:  # entering the toolset says it aloud
            log.warning("What the MCP server %s offers can't be renewed: %s", self._server.name, error)

    def _offer(self) -> None:
        """Offer what the server tells of now, as far as it is approved."""
        lister = None if self._lister is None else self._connections.get(self._lister)
        if lister is None:
            return
        told = list(lister.told.values())
        if self._approved is not None:
            told = self._approved.review(self._server.name, told)
        if told != self._told:
            self._told, self._offers = told, offers(self._server, told)
            self._tools = tuple([offer.tool for offer in self._offers.values()])

    def _check(self, name: str, connection: "Connection") -> None:
        """The tool that is called has to be the one that was approved, perhaps just now."""
        offer = self._offers.get(name)
        told = None if offer is None else connection.told.get(offer.told.name)
        if told is None:
            raise ToolProblem(f"The MCP server {self._server.name} doesn't have {name} any more.")
        if self._approved is None or self._is_as_approved(name, told):
            return
        self._offer()
        if not self._is_as_approved(name, told):
            raise ToolProblem(
                f"Not called: the MCP server {self._server.name} has changed what it says of {name} since it was approved."
                " A person has to look at the change and approve it first; tell them."
            )

    def _is_as_approved(self, name: str, told: Told) -> bool:
        return name in self._offers and self._offers[name].told.fingerprint == told.fingerprint

    # connections

    async def _connected(self, values: Filled) -> "Connection":
        """An open connection with these values: the one that is there, if the server still is, else a new one."""
        from treadle.toolsets.mcp.problems import not_reached

        connection = await self._open(values)
        if connection.doubtful and not await connection.is_there():
            self._drop(values, connection)
            connection = await self._open(values)
        if not connection.is_open:
            raise not_reached(self._server, connection)
        return connection

    async def _open(self, values: Filled) -> "Connection":
        """The connection with these values, which is open now unless it can't be had."""
        connection = self._connections.pop(values, None)
        if connection is not None and connection.is_over:
            self._close(connection)
            connection = None
        if connection is None:
            connection = _connection()(self._server, values, self._listed, self._lookup)
        self._connections[values] = connection  # at the end: it is the one used last now
        self._make_room()
        await connection.opened()
        return connection

    def _make_room(self) -> None:
        """Let go of those that were used longest ago, if there are too many and nothing is under way over them."""
        for values, connection in list(self._connections.items())[:-1]:
            if len(self._connections) > MOST_CONNECTIONS and values != self._lister and connection.is_idle:
                self._drop(values, connection)

    def _drop(self, values: Filled, connection: "Connection") -> None:
        if self._connections.get(values) is connection:
            del self._connections[values]
            self._close(connection)

    def _close(self, connection: "Connection") -> None:
        """Close it in the background; leaving the toolset waits for that."""
        closing = asyncio.create_task(connection.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


def _connection() -> "type[Connection]":
    try:
        from treadle.toolsets.mcp.connection import Connection
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("mcp", "mcp_types"):
            raise SettingsError("Tools of MCP servers need the package mcp: pip install 'treadle[mcp]'") from error
        raise
    return Connection
