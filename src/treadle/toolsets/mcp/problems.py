"""What can go wrong with an MCP server, in words: for the person who set it up, and for the model whose call it was.

Secrets are masked in all of it. What a server says itself is a quote unless it is trusted.
"""

from collections.abc import Iterator
from typing import cast

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult

from treadle.core.errors import SettingsError, ToolProblem
from treadle.core.tool import Tool
from treadle.guard.redaction import Redactor
from treadle.toolsets.mcp.connection import Connection
from treadle.toolsets.mcp.content import shortened, text_of
from treadle.toolsets.mcp.guarded import Unsafe
from treadle.toolsets.mcp.server import Filled, Server

LONGEST = 4000  # characters of what a server says about an error
GONE = (404, 410)  # how a server says over HTTP that it knows nothing of the session


def not_opened(server: Server, filled: Filled, connection: Connection) -> SettingsError:
    """For the person: why a server's tools can't be had."""
    words = f"The MCP server {server.name} {_why(server, connection)}."
    said = connection.news.stderr.decode(errors="replace").strip()
    masked = _redactor(filled).text(said)
    return SettingsError(f"{words} Its last words: {masked}" if masked else words)


def not_reached(server: Server, connection: Connection) -> ToolProblem:
    """For the model: why a call can't be made."""
    return ToolProblem(f"Not called: the MCP server {server.name} {_why(server, connection)}. Do without it, or try again later.")


def failed(server: Server, filled: Filled, connection: Connection, tool: Tool, error: Exception) -> ToolProblem:
    """For the model: why a call that was made brought nothing. Says what becomes of the connection, and decides it."""
    after = "" if tool.effect == "read" else " The call may or may not have taken effect."
    if isinstance(error, TimeoutError):
        connection.doubtful = True
        return ToolProblem(f"{tool.name} gave no answer for {server.timeout:g} seconds and was given up.{after}")
    if is_gone(connection, error):
        connection.leave()
        return ToolProblem(f"The MCP server {server.name} has gone during the call.{after} The next call connects again.")
    if connection.news.refused in (401, 403):
        return ToolProblem(f"The MCP server {server.name} refused the call: the credentials that were sent don't allow it.")
    if isinstance(error, MCPError):
        return _quoting(f"The MCP server {server.name} refused the call: ", error.message, server, filled)
    connection.doubtful = True
    return ToolProblem(f"The answer of the MCP server {server.name} can't be read ({type(error).__name__}).{after}")


def reported(server: Server, filled: Filled, tool: Tool, result: CallToolResult) -> ToolProblem:
    """For the model: what the tool itself says went wrong."""
    return _quoting(f"{tool.name} failed: ", text_of(result) or "it does not say why.", server, filled)


def is_gone(connection: Connection, error: Exception) -> bool:
    """Whether no further call can be made over this connection."""
    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or connection.news.refused in GONE
    return any(isinstance(each, OSError | httpx2.TransportError) for each in _all(error))


def _quoting(words: str, text: str, server: Server, filled: Filled) -> ToolProblem:
    said = _redactor(filled).text(shortened(text.strip(), LONGEST))
    return ToolProblem(words + said) if server.trusted else ToolProblem(words, said)


def _redactor(filled: Filled) -> Redactor:
    return Redactor(known_secrets=filled.secrets)


def _why(server: Server, connection: Connection) -> str:
    """What keeps a connection from being open, as the rest of a sentence about the server."""
    errors = list(_all(connection.failure))
    statuses = [error.response.status_code for error in errors if isinstance(error, httpx2.HTTPStatusError)]
    refused = connection.news.refused or next(iter(statuses), 0)
    if refused in (401, 403):
        return "refuses the credentials that were sent"
    if any(isinstance(error, TimeoutError | httpx2.TimeoutException) for error in errors):
        return f"doesn't answer within {server.starting:g} seconds"
    unsafe = next((error for error in errors if isinstance(error, Unsafe)), None)
    if unsafe is not None:
        return f"isn't asked. {str(unsafe).rstrip('.')}"
    if any(isinstance(error, httpx2.TransportError) for error in errors):
        return f"can't be reached at {_host(server)}"
    for error in errors:
        if isinstance(error, OSError):
            return f"can't be started: {server.command[0] if server.command else _host(server)}: {error.strerror or 'refused'}"
    if refused:
        return f"answers with the status {refused}"
    if any(isinstance(error, MCPError) and error.code == CONNECTION_CLOSED for error in errors) or not errors:
        return "ended before it had answered" if server.command else "closed the connection"
    return f"doesn't speak MCP as it should ({type(errors[-1]).__name__})"


def _host(server: Server) -> str:
    """The address without what may be secret in it."""
    return httpx2.URL(server.url).copy_with(userinfo=b"", query=None, fragment=None).__str__()


def _all(error: BaseException | None) -> Iterator[BaseException]:
    """An error, or those in a group of them."""
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _all(each)
    elif error is not None:
        yield error
