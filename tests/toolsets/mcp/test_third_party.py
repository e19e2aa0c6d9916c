"""The toolset against a server that somebody else wrote: `mcp-server-time`."""

import asyncio
import sys

from treadle import Agent
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets.mcp import ApprovalStore, McpServer, mcp_tools

TIME = McpServer("time", command=(sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"), trusted=True)


def test_somebody_elses_server_is_understood(tmp_path):
    approved = ApprovalStore(tmp_path / "approved.json")
    wanted = {"source_timezone": "Europe/Berlin", "time": "14:00", "target_timezone": "Asia/Tokyo"}
    model = Scripted(calls(("time_convert_time", wanted), ("time_get_current_time", {"timezone": "Nowhere/At_all"})), "done")
    agent = Agent(model, tools=[mcp_tools(TIME, approved=approved)], policy=None)

    async def work():
        async with asyncio.timeout(60):
            return await agent.run("What time is it in Tokyo?")

    converted, wrong = asyncio.run(work()).calls
    assert "Asia/Tokyo" in converted.result.content
    assert wrong.problem == "raised"
    assert "Nowhere/At_all" in wrong.result.content
    told = {tool.name: tool for tool in model.requests[0].tools}
    assert set(told) == {"time_convert_time", "time_get_current_time"}
    assert told["time_convert_time"].parameters["required"] == ["source_timezone", "time", "target_timezone"]
    assert approved.changes("time") == []
