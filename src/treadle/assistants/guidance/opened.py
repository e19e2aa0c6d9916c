"""The store of projects, opened when it is first needed, and closed with the face."""

import asyncio
from typing import TYPE_CHECKING

from treadle import Host
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.store import open_store

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store


FILE = "guidance.db"


class Opened:
    """A store, once somebody asks for it."""

    def __init__(self, host: Host) -> None:
        self.settings: GuidanceSettings = host.settings.assistant("guidance")
        self._address = self.settings.database or str(host.home.folder / FILE)
        self._store: Store | None = None
        self._opening = asyncio.Lock()

    async def store(self) -> "Store":
        """The store."""
        async with self._opening:
            if self._store is None:
                self._store = await open_store(self._address)
        return self._store

    async def close(self) -> None:
        """Let go of it."""
        if self._store is not None:
            await self._store.close()
            self._store = None

    async def __aenter__(self) -> "Store":
        return await self.store()

    async def __aexit__(self, *_: object) -> None:
        await self.close()
