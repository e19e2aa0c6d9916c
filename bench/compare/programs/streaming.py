"""Streaming: the events of a run as they happen, text and calls alike."""

import asyncio
import os

from pydantic_ai import (
    Agent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from scripted import calls, scripted

model = os.environ.get("MODEL") or scripted(calls(("count_votes", {"places": 3})), "There are 4710 votes.")
agent = Agent(model)


@agent.tool_plain
def count_votes(places: int) -> int:
    """Count the votes.

    Args:
        places: how many places to count
    """
    return 1570 * places


async def main() -> None:
    async with agent.run_stream_events("How many votes are there in three places?") as events:
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    print(text, end="", flush=True)
                case FunctionToolCallEvent():
                    print(f"{event.part.tool_name}({event.part.args_as_dict()})")
                case FunctionToolResultEvent():
                    print(f"-> {event.part.content}")
                case _:
                    pass
    print()


asyncio.run(main())
