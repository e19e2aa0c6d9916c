"""The store of a person's projects. Everybody in the process who uses one at the same time shares it; the last one closes it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from treadle import Host
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.store import open_store

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store


FILE = "guidance.db"


class _Shared:
    """A store, and how many use it."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.opening = asyncio.Lock()
        self.users = 0


_open: dict[tuple[str, asyncio.AbstractEventLoop], _Shared] = {}


def user_of(host: Host) -> str:
    """Whose projects these are: whoever the face says, else the one person at this machine."""
    return host.user or "local"


@asynccontextmanager
async def open_projects(host: Host) -> "AsyncGenerator[Store]":
    """The store that the projects of a host's person are in."""
    settings: GuidanceSettings = host.settings.assistant("guidance")
    key = settings.database or str(host.home.folder / FILE), asyncio.get_running_loop()
    shared = _open.setdefault(key, _Shared())
    shared.users += 1
    try:
        async with shared.opening:
            if shared.store is None:
                shared.store = await open_store(key[0])
        yield shared.store
    finally:
        shared.users -= 1
        if not shared.users:
            del _open[key]
            if shared.store is not None:
                await shared.store.close()
