"""A model that makes one call."""

import asyncio

from treadle import Agent, ask, tool
from treadle.plans import one_call
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted

done: list[str] = []


@tool
async def press(button: str) -> str:
    """Press."""
    done.append(button)
    return f"{button} pressed"


def test_it_makes_its_call_once_also_after_a_wait_and_with_another_model():
    async def tale():
        journal = MemoryJournal()
        agent = Agent(one_call("press", {"button": "red"}, "panel"), tools=[press], policy=[ask("*")])
        waiting = await agent.run("Go.", run_id="r", journal=journal)
        other = Agent(one_call("", {}), tools=[press])
        await other.approve("r", waiting.approvals[0].call_id, journal=journal)
        return agent.setup.model.name, await other.resume("r", journal=journal)

    name, result = asyncio.run(tale())
    assert (name, done, result.output) == ("panel", ["red"], "Done.")
    assert isinstance(one_call("press", {}), Scripted)
