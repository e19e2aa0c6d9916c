"""Caching of results: for a limited time, per user, until a write by the same toolset; identical concurrent calls run once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from treadle.core.calls import Call
from treadle.core.tool import Tool
from treadle.engine.live import LiveRun
from treadle.guard.policy import digest_arguments

_Flights = dict[tuple[int, str], "asyncio.Task[str]"]  # by toolset and key
_flights: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Flights]" = WeakKeyDictionary()


def cache_group(run: LiveRun, tool: Tool) -> str:
    """Return the group that is invalidated together: one user's results of one toolset."""
    return f"{tool.toolset}\n{run.caller.user}"


def cache_key(run: LiveRun, tool: Tool, call: Call) -> str:
    """Return the cache key. Other agents may have other tools of the same name, so it isn't the name alone."""
    return f"{cache_group(run, tool)}\n{call.name}\n{run.catalog.mark(call.name)}\n{digest_arguments(call.arguments)}"


async def fetch_cached(run: LiveRun, tool: Tool, call: Call, fetch: Callable[[], Awaitable[str]]) -> tuple[str, bool]:
    """Return the content of a call and whether it was cached. A failed call is not cached, and each caller gets its error."""
    key = cache_key(run, tool, call)
    cache = run.services.cache
    if cache is not None:
        kept = await cache.get(key, run.now())
        if kept is not None:
            return kept, True
    flights = _flights.setdefault(asyncio.get_running_loop(), {})
    flight = (id(run.toolset), key)
    flying = flights.get(flight)
    if flying is not None:
        return await asyncio.shield(flying), True
    flights[flight] = task = asyncio.ensure_future(_fetch(fetch))
    task.add_done_callback(lambda _: flights.pop(flight, None))
    content = await _await_task(task)
    if cache is not None:
        await cache.put(key, cache_group(run, tool), content, run.now() + tool.cache)
    return content, False


async def _fetch(fetch: Callable[[], Awaitable[str]]) -> str:
    return await fetch()


async def _await_task(task: "asyncio.Task[Any]") -> Any:
    """Await a task; if the caller that started it is cancelled, so is the task."""
    try:
        return await task
    finally:
        task.cancel()


async def invalidate_after(run: LiveRun, tool: Tool) -> None:
    """Invalidate the toolset's cached results after a successful write."""
    if run.services.cache is not None:
        await run.services.cache.forget(cache_group(run, tool))
