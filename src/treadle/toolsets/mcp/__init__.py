"""Tools of MCP servers, over the official SDK: `mcp_tools(Server(…))` is a toolset. The SDK is imported when it is entered."""

from treadle.toolsets.mcp.approved import Approved, Change
from treadle.toolsets.mcp.server import Server
from treadle.toolsets.mcp.told import Told
from treadle.toolsets.mcp.toolset import McpTools, mcp_tools

__all__ = ["Approved", "Change", "McpTools", "Server", "Told", "mcp_tools"]
