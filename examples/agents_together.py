"""An agent that is a tool of another. It spends the budget of the agent above it, and its approvals surface there."""

from treadle import Agent, Limits, tool
from treadle.testing import Scripted, calls


@tool(effect="read")
def search(words: str) -> str:
    """Search the archive.

    :param words: what to look for
    """
    return f"3 letters about {words}"


archivist = Agent(
    Scripted(calls(("search", {"words": "the bridge"})), "There are three letters about the bridge, all from 1911."),
    tools=[search],
    name="archivist",
    instructions="You know the archive.",
)
writer = Agent(
    Scripted(
        calls(("archivist", {"prompt": "What do we have about the bridge?"})), "In 1911, three people wrote about the bridge."
    ),
    tools=[archivist.as_tool(description="Ask what the archive has.")],
    limits=Limits(calls=10),
)
result = writer.run_sync("A sentence about the bridge, please.")
print(result.output)
print(f"  {result.usage.requests} requests and {result.usage.calls} calls, of both together")
