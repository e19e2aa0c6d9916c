"""An agent as a tool of another: its usage counts towards the outer limits."""

import os

from pydantic_ai import Agent, RunContext, UsageLimits
from scripted import calls, scripted

archive_model = os.environ.get("MODEL") or scripted(calls(("search", {"words": "the bridge"})), "Three letters from 1911.")
archivist = Agent(archive_model, instructions="You know the archive.")


@archivist.tool_plain
def search(words: str) -> str:
    """Search the archive.

    Args:
        words: what to look for
    """
    return f"3 letters about {words}"


model = os.environ.get("MODEL") or scripted(
    calls(("ask_archivist", {"prompt": "What is there about the bridge?"})), "In 1911, three people wrote about the bridge."
)
writer = Agent(model)


@writer.tool
async def ask_archivist(ctx: RunContext, prompt: str) -> str:
    """Ask what the archive has."""
    return (await archivist.run(prompt, usage=ctx.usage)).output


result = writer.run_sync("A sentence about the bridge, please.", usage_limits=UsageLimits(tool_calls_limit=10))
print(result.output, f"{result.usage.requests} requests by both", sep="\n")
