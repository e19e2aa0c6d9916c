"""Streaming: the events of a run as they happen, text and calls alike."""

import asyncio
import os

from treadle import Agent, tool
from treadle.events import CallReturned, CallStarted, TextArrived
from treadle.testing import Scripted, calls


@tool(effect="read")
def count_votes(places: int) -> int:
    """Count the votes.

    :param places: how many places to count
    """
    return 1570 * places


model = os.environ.get("TREADLE_MODEL") or Scripted(calls(("count_votes", {"places": 3})), "There are 4710 votes.", chunk=6)
agent = Agent(model, tools=[count_votes])


async def main() -> None:
    async for event in agent.stream("How many votes are there in three places?"):
        match event:
            case TextArrived():
                print(event.text, end="", flush=True)
            case CallStarted():
                print(f"{event.call.name}({event.call.arguments})")
            case CallReturned():
                print(f"-> {event.result.content}")
            case _:
                pass
    print()


asyncio.run(main())
