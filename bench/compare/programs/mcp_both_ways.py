"""MCP both ways: this program serves a tool over MCP, and its agent uses the tool of that server. The server is the MCP SDK's."""

import os
import sys

from fastmcp.client.transports import StdioTransport
from mcp.server import MCPServer
from pydantic_ai import Agent, ToolReturnPart
from pydantic_ai.mcp import MCPToolset
from scripted import calls, scripted

server = MCPServer("shop")


@server.tool()
def count(item: str) -> int:
    """Return how many of an item are in stock."""
    return 40


model = os.environ.get("MODEL") or scripted(calls(("shop_count", {"item": "A-113"})), "There are 40.")

if sys.argv[1:] == ["serve"]:
    server.run()
else:
    toolset = MCPToolset(StdioTransport(sys.executable, [__file__, "serve"]), init_timeout=60).prefixed("shop")
    result = Agent(model, toolsets=[toolset]).run_sync("How many of A-113?")
    parts = [part for message in result.all_messages() for part in message.parts]
    print(result.output, [part.content for part in parts if isinstance(part, ToolReturnPart)], sep="\n")
