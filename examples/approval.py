"""A call that waits for a person, who answers later: here at once, in life perhaps tomorrow and from another process."""

import asyncio
import tempfile

from treadle import Agent, ask, open_home, tool
from treadle.testing import Scripted, calls


@tool
def order(item: str, count: int) -> str:
    """Order more of an item.

    :param item: article number
    :param count: how many
    """
    print(f"  (ordering {count} of {item})")
    return f"ordered {count}"


model = Scripted(calls(("order", {"item": "B-7", "count": 500})), "I ordered 50 of B-7, as you wished.")
agent = Agent(model, tools=[order], policy=[ask("order")])


async def main(folder: str) -> None:
    kept = open_home(folder).services()  # journal=True keeps runs in the data folder instead
    waiting = await agent.run("We are out of B-7.", run_id="restock", journal=kept)
    (approval,) = waiting.approvals
    print(f"{waiting.stopped}: {approval.name}({approval.arguments})")

    await agent.approve("restock", approval.call_id, by="Ann", arguments={"item": "B-7", "count": 50}, journal=kept)
    result = await agent.resume("restock", journal=kept)
    print(f"{result.stopped}: {result.output}")


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(folder))
