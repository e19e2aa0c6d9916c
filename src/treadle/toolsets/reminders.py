"""Tools by which a model waits by itself: until a time, to be reminded of something then, or for an event."""

from datetime import datetime
from typing import Any

from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.seams import Toolset
from treadle.tools.tool import tool
from treadle.toolsets.functions import FunctionToolset


@tool(effect="read")
async def remind(ctx: RunContext, what: str, at: str) -> str:
    """Wait until a time, and be reminded of something then; the conversation goes on at that time.

    :param what: what to be reminded of, with all that is needed then
    :param at: the time, as in 2027-01-15T09:00:00+01:00
    """
    await ctx.sleep(until=_parse_time(at))
    return f"It is {at}. You wanted to be reminded of this: {what}"


@tool(effect="read")
async def wait_for_event(ctx: RunContext, name: str, key: str = "", timeout_seconds: float | None = None) -> Any:
    """Wait for an event from outside, and return its value.

    :param name: the event's name
    :param key: which of several events of this name
    :param timeout_seconds: how long to wait at most
    """
    return await ctx.wait_for_event(name, key, timeout=timeout_seconds)


def reminder_toolset() -> Toolset:
    """Return the tools by which a model waits: `remind` and `wait_for_event`."""
    return FunctionToolset([remind, wait_for_event])


def _parse_time(at: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(at)
    except ValueError as error:
        raise ToolProblem(f"{at!r} is no time; write it like 2027-01-15T09:00:00+01:00.") from error
    if parsed.tzinfo is None:
        raise ToolProblem(f"{at!r} has no time zone; write it like 2027-01-15T09:00:00+01:00.")
    return parsed
