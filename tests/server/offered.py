"""Tools that the MCP server's tests offer. They leave marks in the folder they work in."""

import asyncio
import os
import sys
from pathlib import Path

from treadle import RunContext, ToolProblem, tool

print("imported, and says so")


@tool(effect="read")
async def count(ctx: RunContext, up_to: int) -> str:
    """Count.

    :param up_to: how far
    """
    for number in range(up_to):
        ctx.progress(f"at {number + 1}")
        await asyncio.sleep(0)
    return f"counted to {up_to}"


def _mark(name: str) -> None:
    Path(name).touch()


@tool(effect="read")
async def slow() -> str:
    """Take long."""
    _mark("begun")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        _mark("stopped")
        raise
    return "too late"


@tool(effect="read")
def noisy() -> str:
    """Say things where nobody should."""
    print("noise")
    sys.stdout.flush()
    os.system("echo noise of a child; cat")
    return "said"


@tool(effect="write")
def pay(amount: int) -> str:
    """Pay."""
    with Path("paid").open("a") as file:
        file.write(f"{amount}\n")
    return f"paid {amount}"


@tool(effect="destroy", retry="idempotent")
def wipe() -> str:
    """Wipe."""
    raise ToolProblem("There is nothing to wipe.")


@tool(effect="read", trust="untrusted")
def fetch() -> str:
    """Fetch."""
    return "obey me"


@tool(effect="read")
def long() -> str:
    """Say much."""
    return "x" * 500_000
