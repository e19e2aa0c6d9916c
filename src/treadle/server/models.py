"""Which models a person may choose: those that the server's settings list; for whoever started it, also those that are here.

No other name is taken: one could name a program (`command:…`). How a name becomes a model is `app.models`.
"""

import asyncio
from collections.abc import Callable
from time import monotonic

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.app.assistant import Host
from treadle.app.budget import within
from treadle.app.models import model_of, runs_local_models
from treadle.app.settings import user_settings
from treadle.core.errors import SettingsError, UnknownModel
from treadle.core.seams import Model
from treadle.guard.redaction import Redactor
from treadle.routes import Accepted, get, post, routes_of

FRESH = 10.0  # seconds for which a look at what is here counts
LISTED, LOCAL, OLLAMA = "", "runs on this machine", "in Ollama"
HINT = (
    "To use a model of your own, start the server with its key in OPENAI_API_KEY or ANTHROPIC_API_KEY and its name in "
    "TREADLE_MODEL, or run Ollama."
)


class Offered(Struct, frozen=True):
    """A model that may be chosen."""

    name: str
    title: str
    note: str = ""


class Fetched(Struct, frozen=True):
    """A model on its way: how many bytes of how many; `problem` is a sentence where it doesn't come."""

    name: str
    done: int = 0
    total: int = 0
    problem: str = ""


class Choice(Struct, frozen=True):
    """The models that there are. `problem` says what to do where there is no default, `hint` how to use a model of one's own."""

    default: str
    problem: str
    models: tuple[Offered, ...]
    fetching: Fetched | None
    hint: str = HINT


class Fetching:
    """The model that is being fetched, if one is; set by whoever fetches it. `again` begins anew, where somebody can."""

    def __init__(self) -> None:
        self.now: Fetched | None = None
        self.again: Callable[[], None] | None = None

    def begin(self, name: str, total: int = 0) -> None:
        """It is on its way."""
        self.now = Fetched(name, 0, total)

    def progress(self, done: int, total: int) -> None:
        """So much is here."""
        if self.now is not None:
            self.now = Fetched(self.now.name, done, total)

    def fail(self, sentence: str) -> None:
        """It doesn't come."""
        if self.now is not None:
            self.now = Fetched(self.now.name, self.now.done, self.now.total, sentence)

    def done(self) -> None:
        """It is here."""
        self.now = None


class Models:
    """The models of one person. `is_local` says that they started the server, on their own machine."""

    def __init__(self, host: Host, *, is_local: bool, fetching: Fetching | None = None) -> None:
        self._host = host
        self._is_local = is_local
        self._fetching = fetching or Fetching()
        self._made: dict[str, Model] = {}
        self._seen: tuple[float, tuple[Offered, ...]] | None = None
        self._looking = asyncio.Lock()

    async def choice(self) -> Choice:
        """All there is to choose from."""
        default, problem = await self.default()
        try:
            return Choice(default, problem, await self.offered(), self._fetching.now)
        except SettingsError as error:  # of the file that lists them
            return Choice(default, problem or Redactor().text(str(error)), (), self._fetching.now)

    async def default(self) -> tuple[str, str]:
        """The name of the model where none is chosen, or a sentence that says what to do."""
        try:
            return (await self._host.model()).name, ""
        except SettingsError as error:
            return "", Redactor().text(str(error))

    async def offered(self) -> tuple[Offered, ...]:
        """Those that may be chosen. It isn't looked for them all the time."""
        async with self._looking:
            if self._seen is None or monotonic() - self._seen[0] > FRESH:
                self._seen = monotonic(), await self._look()
            return self._seen[1]

    async def _look(self) -> tuple[Offered, ...]:
        found = [Offered(name, name, LISTED) for name in await asyncio.to_thread(_listed)]
        if self._is_local:
            found += await asyncio.to_thread(_local)
            found += await _in_ollama()
        return tuple({each.name: each for each in reversed(found)}.values())[::-1]

    async def named(self, name: str) -> Model:
        """The model by this name, which has to be one that is offered; without a name, the default."""
        if not name:
            return await self._host.model()
        if name not in [each.name for each in await self.offered()]:
            raise UnknownModel(f"The model {name} isn't offered here; GET /api/models lists those that are.")
        if name not in self._made:
            self._made[name] = model_of(name)
        return within(self._host.model, self._made[name])

    def fetch(self) -> Fetched:
        """Fetch the model that didn't come once more; 409 where there is none, or it isn't theirs to say."""
        again, now = self._fetching.again, self._fetching.now
        if again is None or now is None or not self._is_local:
            raise HTTPException(409, "There is no model to fetch here; `treadle models pull` fetches one.")
        again()
        return self._fetching.now or now

    async def check(self, name: str) -> None:
        """422 where a name is none of those that are offered."""
        if name and name not in [each.name for each in await self.offered()]:
            raise HTTPException(422, f"The model {name} isn't offered here; GET /api/models lists those that are.")


def _listed() -> tuple[str, ...]:
    return user_settings().server.models


def _local() -> list[Offered]:
    from treadle.models.catalogue import ENTRIES
    from treadle.models.local import path_of

    here = [model for model in ENTRIES if path_of(model)] if runs_local_models() else []
    return [Offered(f"llamacpp:{model.name}", model.title, LOCAL) for model in here]


async def _in_ollama() -> list[Offered]:
    from treadle.models.ollama import installed_models

    return [Offered(f"ollama:{name}", name, OLLAMA) for name in await installed_models()]


def model_routes(models: Models) -> list[BaseRoute]:
    """What may be chosen."""

    @get("/api/models")
    async def listed() -> Choice:
        """The models that may be chosen."""
        return await models.choice()

    @post("/api/models/fetch", errors={409: "there is none to fetch"})
    async def fetch() -> Accepted[Fetched]:
        """Fetch the model that didn't come once more."""
        return models.fetch()

    return routes_of(listed, fetch)
