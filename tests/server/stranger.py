"""A client that isn't ours and isn't the official SDK's: chuk-mcp, in a process of its own. Prints what it heard as JSON.

`python stranger.py stdio COMMAND…` or `python stranger.py http URL`.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

from chuk_mcp import StdioParameters, send_initialize, send_tools_call, send_tools_list, stdio_client
from chuk_mcp.protocol.messages.send_message import send_message
from chuk_mcp.transports.http import StreamableHTTPParameters, StreamableHTTPTransport


@asynccontextmanager
async def connected(how, *words):
    if how == "stdio":
        async with stdio_client(StdioParameters(command=words[0], args=list(words[1:]))) as streams:
            yield streams
    else:
        async with StreamableHTTPTransport(StreamableHTTPParameters(url=words[0])) as transport:
            yield await transport.get_streams()


async def main(how, *words):
    progress = []

    async def hear(done, total, message):
        progress.append([done, message])

    async with asyncio.timeout(60), connected(how, *words) as (reading, writing):
        begun = await send_initialize(reading, writing)
        tools = await send_tools_list(reading, writing)
        called = [
            (await send_tools_call(reading, writing, name=name, arguments=arguments)).model_dump()
            for name, arguments in (("count", {"up_to": 1}), ("count", {"up_to": "many"}), ("wipe", {}), ("pay", {"amount": 3}))
        ]
        params = {"name": "count", "arguments": {"up_to": 3}}
        counted = await send_message(reading, writing, "tools/call", params, progress_callback=hear) if how == "stdio" else None
        heard = {
            "server": begun.serverInfo.name,
            "tools": [tool.model_dump() for tool in tools.tools],
            "called": called,
            "counted": counted,
            "progress": progress,
        }
        print(json.dumps(heard))


asyncio.run(main(*sys.argv[1:]))
