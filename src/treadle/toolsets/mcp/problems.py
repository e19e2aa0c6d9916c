"""Error messages about an MCP server: for the user who configured it, and for the model that made the call.

Secrets are masked in all of them. The server's own words are quoted unless it is trusted.
"""

from collections.abc import Iterator
from typing import cast

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult

from treadle.core.errors import SettingsError, ToolProblem
from treadle.core.tool import Tool
from treadle.guard.redaction import Redactor
from treadle.toolsets.mcp.connection import McpConnection
from treadle.toolsets.mcp.content import result_to_text, shorten_middle
from treadle.toolsets.mcp.guarded_transport import RequestBlocked
from treadle.toolsets.mcp.server import McpServer, ServerValues

MAX_QUOTE = 4000  # characters of what a server says about an error
GONE_STATUSES = (404, 410)  # how a server says over HTTP that it knows nothing of the session


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
