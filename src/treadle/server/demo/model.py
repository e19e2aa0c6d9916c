"""The demo's model: one that the user has, else the embedded one, downloaded while the pages are already served."""

import asyncio
from collections.abc import Callable

from treadle.core.errors import TreadleError, UnknownModel
from treadle.models.downloads.catalogue import LocalModel
from treadle.models.downloads.pull import OnProgress, PullProgress, pull_model
from treadle.plugins.models import configured_model, default_model
from treadle.server.models import DownloadTracker


async def find_demo_model(named: str = "", base_url: str = "") -> tuple[str, str]:
    """Return the name of a model and its server's URL; an empty name where there is none.

    It is the one that was named, or configured, or that there is a key for, or that runs locally.
    """
    settled, address = (named, "") if named else configured_model()
    try:
        return settled or await default_model(), base_url or address
    except UnknownModel:
        return "", base_url


class DemoModelFetcher:
    """Downloads a model in the background, with progress for pages and terminal; retries on request after a failure.

    show  is called with the progress
    tell  is called with a sentence when the download succeeded or failed
    """

    def __init__(self, model: LocalModel, fetching: DownloadTracker, show: OnProgress, tell: Callable[[str], None]) -> None:
        self._model = model
        self._fetching = fetching
        self._show = show
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        fetching.again = self.begin

    def begin(self) -> None:
        """Start the download, unless it is active."""
        if self._task is None or self._task.done():
            self._fetching.begin(self._model.name, self._model.size)
            self._task = asyncio.create_task(self._fetch())

    async def close(self) -> None:
        """Stop. What was downloaded is kept, for the next time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _fetch(self) -> None:
        try:
            await pull_model(self._model, self._on_progress)
        except TreadleError as error:
            self._fetching.fail(str(error))
            self._tell(str(error))
        else:
            self._fetching.done()
            self._tell(f"{self._model.name} is here, and answers from now on.")

    def _on_progress(self, progress: PullProgress) -> None:
        self._fetching.progress(progress.done, progress.total)
        self._show(progress)
