"""A run as it happens, event by event."""

import asyncio

from treadle import Agent, RunContext, tool
from treadle.core.events import CallProgressed, CallReturned, CallStarted, RunEnded, TextArrived
from treadle.testing import Scripted, calls


@tool(effect="read")
async def count_votes(ctx: RunContext, places: int) -> int:
    """Count the votes.

    :param places: how many places to count
    """
    for place in range(1, places + 1):
        ctx.progress(f"place {place} of {places}")
    return 4711


async def main() -> None:
    model = Scripted(calls(("count_votes", {"places": 3})), "There are 4711 votes.", chunk=6)
    async for event in Agent(model, tools=[count_votes]).stream("How many votes?"):
        match event:
            case TextArrived():
                print(event.text, end="|", flush=True)
            case CallStarted():
                print(f"[{event.call.name} begins]")
            case CallProgressed():
                print(f"[{event.text}]")
            case CallReturned():
                print(f"[{event.result.content}]")
            case RunEnded():
                print(f"\n{event.result.stopped}")
            case _:
                pass


asyncio.run(main())
