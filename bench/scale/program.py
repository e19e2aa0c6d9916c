"""The agent that workers execute here: three effects, one after the other, each written to a file that all of them share.

An effect whose worker was killed is checked against the file, so that no person has to be asked. A run that says "hold" waits
in its first call until it is cancelled.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

from treadle import Agent, RunContext, allow, tool
from treadle.testing import Scripted, calls

EFFECTS = 3
PAUSE = 0.05  # seconds between two effects
HELD = 600.0


def effects_file() -> Path:
    """The file of all effects, a line each."""
    return Path(os.environ["SCALE_EFFECTS"])


async def _has_happened(ctx: RunContext[Any], number: int) -> str | None:
    return f"made {number}" if f"{ctx.run_id} {number}\n" in effects_file().read_text("utf-8") else None


@tool(effect="write", retry="checkable", reconcile=_has_happened)
async def make(ctx: RunContext[Any], number: int) -> str:
    """Make something."""
    await asyncio.sleep(PAUSE)
    file = os.open(effects_file(), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{ctx.run_id} {number}\n".encode())  # one write, so that lines of several processes don't mix
    finally:
        os.close(file)
    return f"made {number}"


@tool(effect="read")
async def hold() -> str:
    """Wait."""
    await asyncio.sleep(HELD)
    return "held"


def _reply(request: Any) -> Any:
    done = sum(message.role == "tools" for message in request.history)
    if request.history[0].text == "hold":
        return calls(("hold", {}))
    return calls(("make", {"number": done + 1})) if done < EFFECTS else "All made."


class _Maker:
    """A model that asks for the next effect."""

    name = "scale:maker"
    traits = Scripted().traits

    def reply(self, request: Any) -> Any:
        """Return the reply to a request."""
        return Scripted(_reply).reply(request)


agent = Agent(_Maker(), tools=[make, hold], policy=[allow("make"), allow("hold")])
