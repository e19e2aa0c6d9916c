"""What the platform's documentation says: folders that the operator named, indexed, and the passages that fit a question.

Nothing is opened where no folder is named. What can't be found out never keeps a question from being answered.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle import Host, SharedResources, TreadleError
from treadle.assistants.platform.settings import PlatformSettings

if TYPE_CHECKING:
    from treadle.passages import Found, Passages

FILE = "platform-documents.db"
FRESH = 60.0  # seconds between two looks at the folders

log = getLogger("treadle.platform")


class Known(Struct, frozen=True):
    """How many documents there are, and whose vectors they have."""

    documents: int = 0
    embedder: str = ""


class Documents:
    """The documents of one platform, kept in a folder of the person's."""

    def __init__(self, settings: PlatformSettings, folder: Path) -> None:
        self._settings = settings
        self._path = folder / FILE
        self._store: Passages | None = None
        self._indexing = asyncio.Lock()
        self._fresh_until = 0.0

    async def refresh(self) -> list[str]:
        """Index what has changed; sentences on what was done, and on what couldn't be."""
        if not self._settings.documents:
            return []
        from treadle.passages import index_folders

        self._fresh_until = time.monotonic() + FRESH
        there, missing = _folders(self._settings.documents)
        try:
            report = await index_folders(self._opened(), there)
        except TreadleError as error:
            return [f"The documents couldn't be indexed, so answers go without them: {error}"]
        new = report.added + report.changed
        done = [f"{new} {'document was' if new == 1 else 'documents were'} indexed."] if new else []
        gone = [f"The documents' folder {folder} isn't there." for folder in missing]
        return [*gone, *done, *[f"{each.source} was left out: {each.reason}" for each in report.skipped]]

    async def keep_fresh(self) -> None:
        """Index what has changed, unless that was done a moment ago; several who ask at once wait for one another."""
        async with self._indexing:
            if time.monotonic() < self._fresh_until:
                return
            for sentence in await self.refresh():
                log.info("%s", sentence)

    async def about(self, question: str) -> "list[Found]":
        """The passages that fit a question, the best first."""
        if not self._settings.documents or not self._settings.passages or not question.strip():
            return []
        try:
            return await self._opened().search(question, limit=self._settings.passages, floor=self._settings.floor)
        except TreadleError:
            return []  # an answer without documentation is better than none

    async def state(self) -> Known:
        """What there is."""
        if not self._settings.documents:
            return Known()
        try:
            state = await self._opened().state()
        except TreadleError:
            return Known()
        return Known(state.documents, state.embedder)

    async def close(self) -> None:
        """Let go of the file."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _opened(self) -> "Passages":
        if self._store is None:
            from treadle.passages import Passages, embedder_of

            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._store = Passages(self._path, embedder_of(self._settings.embeddings))
        return self._store


_documents: SharedResources[Documents] = SharedResources(Documents.close)


def open_documents(host: Host, settings: PlatformSettings) -> AbstractAsyncContextManager[Documents]:
    """The documents of a platform, for one person. All who use them at the same time share them."""
    return _documents.use((host.home.folder, settings), lambda: Documents(settings, host.home.folder))


def _folders(names: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Those that are there, and those that aren't."""
    folders = [Path(name).expanduser() for name in names]
    return [each for each in folders if each.is_dir()], [each for each in folders if not each.is_dir()]
