"""Results reused: for a while, for the same user, until a write by the same toolset; identical calls at once run once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from treadle.core.calls import Call
from treadle.core.tool import Tool
from treadle.engine.live import LiveRun
from treadle.guard.policy import digest

_Flights = dict[tuple[int, str], "asyncio.Task[str]"]  # by toolset and key
_flights: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Flights]" = WeakKeyDictionary()


def group_of(run: LiveRun, tool: Tool) -> str:
    """What is forgotten together: one user's results of one toolset."""
    return f"{tool.toolset}\n{run.caller.user}"


def key_of(run: LiveRun, tool: Tool, call: Call) -> str:
    """What a result is kept under. Other agents may have other tools of the same name, so it isn't the name alone."""
    return f"{group_of(run, tool)}\n{call.name}\n{run.catalog.mark(call.name)}\n{digest(call.arguments)}"


async def cached(run: LiveRun, tool: Tool, call: Call, fetch: Callable[[], Awaitable[str]]) -> tuple[str, bool]:
    """The content of a call and whether it was reused. A failed call is not kept, and each caller hears of it."""
    key = key_of(run, tool, call)
    cache = run.services.cache
    if cache is not None:
        kept = await cache.get(key, run.now())
        if kept is not None:
            return kept, True
    flights = _flights.setdefault(asyncio.get_running_loop(), {})
    flight = (id(run.setup.toolset), key)
    flying = flights.get(flight)
    if flying is not None:
        return await asyncio.shield(flying), True
    flights[flight] = task = asyncio.ensure_future(_fetched(fetch))
    task.add_done_callback(lambda _: flights.pop(flight, None))
    content = await _awaited(task)
    if cache is not None:
        await cache.put(key, group_of(run, tool), content, run.now() + tool.cache)
    return content, False


async def _fetched(fetch: Callable[[], Awaitable[str]]) -> str:
    return await fetch()


async def _awaited(task: "asyncio.Task[Any]") -> Any:
    """The task's value; if whoever started it is cancelled, so is the task."""
    try:
        return await task
    finally:
        task.cancel()


async def forget_after(run: LiveRun, tool: Tool) -> None:
    """A write succeeded: what was read through the same toolset may no longer be so."""
    if run.services.cache is not None:
        await run.services.cache.forget(group_of(run, tool))
