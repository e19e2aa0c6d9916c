"""The client that the suite looks at: connects with Treadle's MCP toolset, lists, and calls every tool. The address comes last."""

import asyncio
import sys

from treadle import Agent, allow
from treadle.models.scripted import ScriptedCall, ScriptedReply
from treadle.testing import Scripted
from treadle.toolsets.mcp import McpServer, mcp_tools

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}


async def main(url: str) -> None:
    """A run whose model calls whatever there is."""
    toolset = mcp_tools(McpServer("suite", url=url, prefix=False, timeout=20))
    async with toolset:
        calls = [ScriptedCall(tool.name, ARGUMENTS.get(tool.name, {})) for tool in toolset.tools()]
        model = Scripted(*([ScriptedReply(calls=tuple(calls))] if calls else []), "done")
        result = await Agent(model, toolsets=[toolset], policy=[allow("*")]).run("Call everything.")
    for record in result.calls:
        print(f"{record.name}: {record.result.content if record.result else 'nothing'}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
