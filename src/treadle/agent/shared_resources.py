"""Resources that several users in one process share, such as an index or a store: opened by the first, closed by the last.

Each event loop has its own, since connections and locks belong to the loop that created them.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any, Generic, TypeVar, cast

ResourceT = TypeVar("ResourceT")


class _OpenResource:
    """A resource, once it is open, and its reference count."""

    def __init__(self) -> None:
        self.resource: Any = None
        self.is_open = False
        self.opening = asyncio.Lock()
        self.users = 0


class SharedResources(Generic[ResourceT]):
    """The open resources of one kind, by key. `close` closes one, directly or as an awaitable."""

    def __init__(self, close: Callable[[ResourceT], object]) -> None:
        self._close = close
        self._open: dict[tuple[Hashable, asyncio.AbstractEventLoop], _OpenResource] = {}

    @asynccontextmanager
    async def use(self, key: Hashable, make: Callable[[], ResourceT | Awaitable[ResourceT]]) -> AsyncGenerator[ResourceT]:
        """Yield the resource of this key, which `make` creates where none is open."""
        here = key, asyncio.get_running_loop()
        shared = self._open.setdefault(here, _OpenResource())
        shared.users += 1
        try:
            async with shared.opening:
                if not shared.is_open:
                    made = make()
                    shared.resource = await made if isawaitable(made) else made
                    shared.is_open = True
            yield cast("ResourceT", shared.resource)
        finally:
            shared.users -= 1
            if not shared.users:
                del self._open[here]
                if shared.is_open:
                    closing = self._close(shared.resource)
                    if isawaitable(closing):
                        await closing
