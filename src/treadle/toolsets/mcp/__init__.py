"""Tools of MCP servers, with the official SDK: `mcp_tools(McpServer(…))` is a toolset. The SDK is imported when it is entered."""

from treadle.toolsets.mcp.offers import AdvertisedTool, ApprovalStore, DescriptionChange
from treadle.toolsets.mcp.server import McpServer
from treadle.toolsets.mcp.toolset import McpTools, mcp_tools

__all__ = ["AdvertisedTool", "ApprovalStore", "DescriptionChange", "McpServer", "McpTools", "mcp_tools"]
