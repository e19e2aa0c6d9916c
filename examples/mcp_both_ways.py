"""MCP both ways: this program serves a tool over MCP, and its agent uses the tool of that server. Needs `treadle[mcp,server]`."""

import asyncio
import os
import sys

from treadle import Agent, FunctionToolset, tool
from treadle.server import Offering, claim_stdio, serve_mcp
from treadle.testing import Scripted, calls
from treadle.toolsets import McpServer, mcp_tools


@tool(effect="read")
def count(item: str) -> int:
    """Return how many of an item are in stock."""
    return 40


model = os.environ.get("TREADLE_MODEL") or Scripted(calls(("shop_count", {"item": "A-113"})), "There are 40.")

if sys.argv[1:] == ["serve"]:
    asyncio.run(serve_mcp(Offering([FunctionToolset([count])]), claim_stdio()))
else:
    server = McpServer("shop", command=(sys.executable, __file__, "serve"), reads=("count",))
    result = Agent(model, tools=[mcp_tools(server)]).run_sync("How many of A-113?")
    print(result.output, [call.result.data for call in result.calls if call.result], sep="\n")
