"""An agent as a tool of another: its usage counts towards the outer limits, and its approvals appear in the outer run."""

import os

from treadle import Agent, Limits, tool
from treadle.testing import Scripted, calls


@tool(effect="read")
def search(words: str) -> str:
    """Search the archive.

    :param words: what to look for
    """
    return f"3 letters about {words}"


archive_model = os.environ.get("TREADLE_MODEL") or Scripted(calls(("search", {"words": "the bridge"})), "Three letters from 1911.")
archivist = Agent(archive_model, tools=[search], name="archivist", instructions="You know the archive.")

model = os.environ.get("TREADLE_MODEL") or Scripted(
    calls(("archivist", {"prompt": "What is there about the bridge?"})), "In 1911, three people wrote about the bridge."
)
writer = Agent(model, tools=[archivist.as_tool(description="Ask what the archive has.")], limits=Limits(calls=10))
result = writer.run_sync("A sentence about the bridge, please.")
print(result.output, f"{result.usage.requests} requests by both", sep="\n")
