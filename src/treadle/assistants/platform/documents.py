"""The platform's documentation: folders named by the operator, indexed, and the passages that match a question.

Nothing is opened if no folder is named. A failure never prevents an answer.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle import TreadleError
from treadle.assistant import Host, SharedResources
from treadle.assistants.platform.settings import PlatformSettings

if TYPE_CHECKING:
    from treadle.passages import PassageHit, Passages

FILE = "platform-documents.db"
REFRESH_SECONDS = 60.0  # seconds between two looks at the folders

log = getLogger("treadle.platform")


class DocumentsState(Struct, frozen=True):
    """The number of documents, and the embedder of their vectors."""

    documents: int = 0
    embedder: str = ""


class PlatformDocuments:
    """The documents of one platform, stored in the user's folder."""

    def __init__(self, settings: PlatformSettings, folder: Path) -> None:
        self._settings = settings
        self._path = folder / FILE
        self._store: Passages | None = None
        self._indexing = asyncio.Lock()
        self._fresh_until = 0.0

    async def refresh(self) -> list[str]:
        """Index what has changed; return sentences on what was done, and on what failed."""
        if not self._settings.documents:
            return []
        from treadle.passages import index_folders

        self._fresh_until = time.monotonic() + REFRESH_SECONDS
        there, missing = _split_folders(self._settings.documents)
        try:
            report = await index_folders(self._open(), there)
        except TreadleError as error:
            return [f"The documents couldn't be indexed, so answers go without them: {error}"]
        new = report.added + report.changed
        done = [f"{new} {'document was' if new == 1 else 'documents were'} indexed."] if new else []
        gone = [f"The documents' folder {folder} isn't there." for folder in missing]
        return [*gone, *done, *[f"{each.source} was left out: {each.reason}" for each in report.skipped]]

    async def keep_fresh(self) -> None:
        """Index what has changed, unless that was done a moment ago; concurrent callers wait for one another."""
        async with self._indexing:
            if time.monotonic() < self._fresh_until:
                return
            for sentence in await self.refresh():
                log.info("%s", sentence)

    async def about(self, question: str) -> "list[PassageHit]":
        """Return the passages that match a question, the best first."""
        if not self._settings.documents or not self._settings.passages or not question.strip():
            return []
        try:
            return await self._open().search(question, limit=self._settings.passages, floor=self._settings.floor)
        except TreadleError:
            return []  # an answer without documentation is better than none

    async def state(self) -> DocumentsState:
        """Return the state of the index."""
        if not self._settings.documents:
            return DocumentsState()
        try:
            state = await self._open().state()
        except TreadleError:
            return DocumentsState()
        return DocumentsState(state.documents, state.embedder)

    async def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _open(self) -> "Passages":
        if self._store is None:
            from treadle.passages import Passages, embedder_of

            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._store = Passages(self._path, embedder_of(self._settings.embeddings))
        return self._store


_documents: SharedResources[PlatformDocuments] = SharedResources(PlatformDocuments.close)


def open_documents(host: Host, settings: PlatformSettings) -> AbstractAsyncContextManager[PlatformDocuments]:
    """Open a platform's documents for one user. Concurrent users share one instance."""
    return _documents.use((host.home.folder, settings), lambda: PlatformDocuments(settings, host.home.folder))


def _split_folders(names: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Return the existing folders, and the missing ones."""
    folders = [Path(name).expanduser() for name in names]
    return [each for each in folders if each.is_dir()], [each for each in folders if not each.is_dir()]
