"""Which model the demonstration uses: one that the person has, else the embedded one, fetched while the pages are there already."""

import asyncio
from collections.abc import Callable

from treadle.app.models import default_model, settled_model
from treadle.core.errors import TreadleError, UnknownModel
from treadle.models.catalogue import LocalModel
from treadle.models.pull import OnProgress, Progress, pull
from treadle.server.models import Fetching


async def model_here(named: str = "", base_url: str = "") -> tuple[str, str]:
    """The name of a model and the address of its server: the one that was named, or settled, or that there is a key for, or that
    runs here; an empty name where there is none.
    """
    settled, address = (named, "") if named else settled_model()
    try:
        return settled or await default_model(), base_url or address
    except UnknownModel:
        return "", base_url


class Fetcher:
    """Fetches a model in the background, for pages and the terminal to see; again, where that failed and somebody asks for it.

    show  sees how far it is
    tell  hears a sentence when it is over, well or not
    """

    def __init__(self, model: LocalModel, fetching: Fetching, show: OnProgress, tell: Callable[[str], None]) -> None:
        self._model = model
        self._fetching = fetching
        self._show = show
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        fetching.again = self.begin

    def begin(self) -> None:
        """Fetch it, unless that is under way."""
        if self._task is None or self._task.done():
            self._fetching.begin(self._model.name, self._model.size)
            self._task = asyncio.create_task(self._fetch())

    async def close(self) -> None:
        """Stop. What has come is kept, for the next time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _fetch(self) -> None:
        try:
            await pull(self._model, self._seen)
        except TreadleError as error:
            self._fetching.fail(str(error))
            self._tell(str(error))
        else:
            self._fetching.done()
            self._tell(f"{self._model.name} is here, and answers from now on.")

    def _seen(self, progress: Progress) -> None:
        self._fetching.progress(progress.done, progress.total)
        self._show(progress)
