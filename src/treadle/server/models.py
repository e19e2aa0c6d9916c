"""The models that a user may choose: those that the server's settings list; for its owner, also the local ones.

No other name is accepted: one could name a program (`command:…`). `plugins.models` resolves a name to a model.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.agent.budget import apply_budget
from treadle.core.errors import SettingsError, TreadleError, UnknownModel
from treadle.core.log import log
from treadle.core.seams import Model
from treadle.guard.redaction import Redactor
from treadle.plugins.assistant import Host
from treadle.plugins.models import has_local_engine, resolve_model
from treadle.routes import Accepted, get, post, routes_of
from treadle.settings.loader import user_settings
from treadle.settings.provider_keys import provider_keys_stamp

if TYPE_CHECKING:
    from treadle.models.downloads.catalogue import LocalModel
    from treadle.models.downloads.pull import OnProgress, PullProgress

CACHE_SECONDS = 10.0  # seconds for which a look at what is here counts
LISTED, LOCAL, OLLAMA = "", "runs on this machine", "in Ollama"
HINT = (
    "To use a model of your own, add its key in the settings and choose it there, start the server with the key in OPENAI_API_KEY "
    "or ANTHROPIC_API_KEY, or run Ollama."
)


class OfferedModel(Struct, frozen=True):
    """A model that may be chosen."""

    name: str
    title: str
    note: str = ""


class ModelDownload(Struct, frozen=True):
    """A model being downloaded: bytes done and total; `problem` is a sentence where it failed."""

    name: str
    done: int = 0
    total: int = 0
    problem: str = ""


class ModelChoices(Struct, frozen=True):
    """The available models. `problem` says what to do where there is no default, `hint` how to use a model of one's own.

    `local` says that the default runs on the server's own machine.
    """

    default: str
    problem: str
    models: tuple[OfferedModel, ...]
    fetching: ModelDownload | None
    hint: str = HINT
    local: bool = False


class DownloadTracker:
    """Tracks the model that is being downloaded, if any. `again` restarts the download, where that is possible."""

    def __init__(self) -> None:
        self.now: ModelDownload | None = None
        self.again: Callable[[], None] | None = None

    def begin(self, name: str, total: int = 0) -> None:
        """Record the start of a download."""
        self.now = ModelDownload(name, 0, total)

    def progress(self, done: int, total: int) -> None:
        """Record progress."""
        if self.now is not None:
            self.now = ModelDownload(self.now.name, done, total)

    def fail(self, sentence: str) -> None:
        """Record that the download failed."""
        if self.now is not None:
            self.now = ModelDownload(self.now.name, self.now.done, self.now.total, sentence)

    def done(self) -> None:
        """Record that the download is complete."""
        self.now = None


class ModelFetcher:
    """Downloads a model in the background, with progress for pages and terminal; retries on request after a failure.

    show  is called with the progress
    tell  is called with a sentence when the download succeeded or failed
    """

    def __init__(
        self,
        model: "LocalModel",
        fetching: DownloadTracker,
        show: "OnProgress | None" = None,
        tell: Callable[[str], None] = log.info,
    ) -> None:
        self._model = model
        self._fetching = fetching
        self._show = show
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        fetching.again = self.begin

    def begin(self) -> None:
        """Start the download, unless it is active."""
        if self._task is None or self._task.done():
            self._fetching.again = self.begin
            self._fetching.begin(self._model.name, self._model.size)
            self._task = asyncio.create_task(self._fetch())

    async def close(self) -> None:
        """Stop. What was downloaded is kept, for the next time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _fetch(self) -> None:
        from treadle.models.downloads.pull import pull_model

        try:
            await pull_model(self._model, self._on_progress)
        except TreadleError as error:
            self._fetching.fail(str(error))
            self._tell(str(error))
        else:
            self._fetching.done()
            self._tell(f"{self._model.name} is here, and answers from now on.")

    def _on_progress(self, progress: "PullProgress") -> None:
        self._fetching.progress(progress.done, progress.total)
        if self._show is not None:
            self._show(progress)


class ModelCatalog:
    """The models of one user. `is_local` says that they started the server, on their own machine."""

    def __init__(self, host: Host, *, is_local: bool, fetching: DownloadTracker | None = None) -> None:
        self._host = host
        self._is_local = is_local
        self._fetching = fetching or DownloadTracker()
        self._made: dict[tuple[object, ...], Model] = {}
        self._seen: tuple[float, tuple[OfferedModel, ...]] | None = None
        self._looking = asyncio.Lock()

    async def choice(self) -> ModelChoices:
        """Return everything there is to choose from."""
        default, problem = await self.default()
        try:
            offered = await self.list_models()
            return ModelChoices(default, problem, offered, self._fetching.now, local=_is_local(default, offered))
        except SettingsError as error:  # of the file that lists them
            return ModelChoices(default, problem or Redactor().text(str(error)), (), self._fetching.now)

    async def default(self) -> tuple[str, str]:
        """Return the name of the default model, or a sentence that says what to do."""
        try:
            return (await self._host.model()).name, ""
        except SettingsError as error:
            return "", Redactor().text(str(error))

    async def list_models(self) -> tuple[OfferedModel, ...]:
        """Return the models that may be chosen, cached for a while."""
        async with self._looking:
            if self._seen is None or monotonic() - self._seen[0] > CACHE_SECONDS:
                self._seen = monotonic(), await self._find_models()
            return self._seen[1]

    async def _find_models(self) -> tuple[OfferedModel, ...]:
        found = [OfferedModel(name, name, LISTED) for name in await asyncio.to_thread(_configured_models)]
        if self._is_local:
            found += await asyncio.to_thread(_local_models)
            found += await _ollama_models()
        return tuple({each.name: each for each in reversed(found)}.values())[::-1]

    async def get_model(self, name: str) -> Model:
        """Return the model of this name, which has to be offered; without a name, the default."""
        if not name:
            return await self._host.model()
        if name not in [each.name for each in await self.list_models()]:
            raise UnknownModel(f"The model {name} isn't offered here; GET /api/models lists those that are.")
        made = name, provider_keys_stamp()  # another key makes another model
        if made not in self._made:
            self._made[made] = resolve_model(name)
        return apply_budget(self._host.model, self._made[made])

    def fetch(self) -> ModelDownload:
        """Retry a failed download; raise 409 where there is none, or the user isn't allowed to."""
        again, now = self._fetching.again, self._fetching.now
        if again is None or now is None or not self._is_local:
            raise HTTPException(409, "There is no model to fetch here; `treadle models pull` fetches one.")
        again()
        return self._fetching.now or now

    async def check(self, name: str) -> None:
        """Raise 422 where a name isn't offered."""
        if name and name not in [each.name for each in await self.list_models()]:
            raise HTTPException(422, f"The model {name} isn't offered here; GET /api/models lists those that are.")


def _is_local(name: str, offered: Sequence[OfferedModel]) -> bool:
    return name.startswith("llamacpp:") or any(each.name == name and each.note in (LOCAL, OLLAMA) for each in offered)


def _configured_models() -> tuple[str, ...]:
    return user_settings().server.models


def _local_models() -> list[OfferedModel]:
    from treadle.models.downloads.catalogue import LOCAL_MODELS
    from treadle.models.downloads.storage import find_model_file

    here = [model for model in LOCAL_MODELS if find_model_file(model)] if has_local_engine() else []
    return [OfferedModel(f"llamacpp:{model.name}", model.title, LOCAL) for model in here]


async def _ollama_models() -> list[OfferedModel]:
    from treadle.models.wires.ollama import list_ollama_models

    return [OfferedModel(f"ollama:{name}", name, OLLAMA) for name in await list_ollama_models()]


def model_routes(models: ModelCatalog) -> list[BaseRoute]:
    """Return the routes."""

    @get("/api/models")
    async def list_models() -> ModelChoices:
        """List the models that may be chosen."""
        return await models.choice()

    @post("/api/models/fetch", errors={409: "there is none to fetch"})
    async def fetch() -> Accepted[ModelDownload]:
        """Retry a failed model download."""
        return models.fetch()

    return routes_of(list_models, fetch)
