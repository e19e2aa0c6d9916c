"""The MCP servers that a client names for a session: connected when it is opened, their tools judged like those of the settings."""

import re
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import Any

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer
from msgspec import Struct

from treadle.core.errors import SettingsError, TreadleError
from treadle.core.seams import Toolset
from treadle.guard.redaction import Redactor
from treadle.plugins.user_tools import label_toolset

NamedServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def can_connect() -> bool:
    """Whether the package for MCP is installed."""
    return find_spec("mcp") is not None


class ConnectedServers(Struct, frozen=True):
    """The toolsets of the servers, and the secrets in their settings, which are masked wherever they occur."""

    toolsets: tuple[Toolset, ...] = ()
    secrets: tuple[str, ...] = ()


async def connect_servers(named: Sequence[NamedServer], stack: AsyncExitStack) -> ConnectedServers:
    """Connect to the servers, for as long as the stack is open. Raises `SettingsError` for one that can't be connected to."""
    if not named:
        return ConnectedServers()
    if not can_connect():
        raise SettingsError("MCP servers need a package: pip install 'treadle[mcp]'. Or remove them from the editor's settings.")
    from treadle.toolsets.mcp import mcp_tools

    toolsets: list[Toolset] = []
    for each in named:
        server = _to_server(each)
        try:
            entered = await stack.enter_async_context(mcp_tools(server))
        except TreadleError as error:
            raise SettingsError(f"The MCP server {each.name} can't be used: {error}") from error
        toolsets.append(label_toolset(entered, f"mcp.{server.name}"))
    return ConnectedServers(tuple(toolsets), tuple(_find_secrets(named)))


def _to_server(named: NamedServer) -> Any:
    from treadle.toolsets.mcp import McpServer

    name = _UNFIT.sub("-", named.name).strip("-_")[:32]
    match named:
        case McpServerStdio():
            return McpServer(name, (named.command, *named.args), {each.name: each.value for each in named.env})
        case HttpMcpServer() | SseMcpServer():
            headers = {each.name: each.value for each in named.headers}
            return McpServer(name, url=named.url, headers=headers, sse=isinstance(named, SseMcpServer))
        case AcpMcpServer():
            raise SettingsError(f"The MCP server {named.name} is one of the editor's own, which this agent can't connect to.")


def _find_secrets(named: Iterable[NamedServer]) -> Iterable[str]:
    redactor = Redactor()
    for each in named:
        for value in each.env if isinstance(each, McpServerStdio) else getattr(each, "headers", ()):
            if redactor.finds({value.name: value.value}):
                yield value.value
