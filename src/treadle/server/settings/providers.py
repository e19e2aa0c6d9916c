"""Providers of models over HTTP: which have a key, adding and testing one, and downloads of local models.

A key is never returned: only that there is one, from where, and its last four characters.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.core.errors import TreadleError
from treadle.core.messages import History, person_message
from treadle.core.requests import Options, ReplyEnded, Request
from treadle.core.seams import Model
from treadle.guard.redaction import Redactor
from treadle.models.downloads.catalogue import LOCAL_MODELS, find_local_model
from treadle.models.downloads.storage import find_model_file
from treadle.models.factory import find_key_variable
from treadle.models.providers import PROVIDERS, ModelProvider
from treadle.plugins.models import has_local_engine, resolve_model
from treadle.routes import Accepted, delete, get, post, put, routes_of
from treadle.server.models import DownloadTracker, ModelDownload, ModelFetcher
from treadle.server.settings.access import FORBIDDEN, SettingsAccess
from treadle.settings.provider_keys import key_ending, load_provider_key, remove_provider_key, store_provider_key, stored_providers

TEST_SECONDS = 60.0  # that a test may take
TEST_TOKENS = 200  # of its reply: models that reason need some
NOT_FOUND = {404: "there is no such provider"}


class ProviderView(Struct, frozen=True):
    """A provider. `key` says where its key is from: `variable`, `stored`, or empty where there is none.

    `ending` has the last characters of a stored key; `problem` says why one can't be used.
    """

    kind: str
    title: str
    variable: str
    key: str = ""
    ending: str = ""
    added_at: float = 0
    problem: str = ""
    default_model: str = ""
    local: bool = False


class LocalModelView(Struct, frozen=True):
    """A model that runs on the server's machine. `size` is in bytes."""

    name: str
    title: str
    size: int
    licence: str
    installed: bool


class ProviderList(Struct, frozen=True):
    """The providers, and the local models. `engine` says whether what runs local models is installed."""

    providers: list[ProviderView]
    local_models: list[LocalModelView]
    engine: bool
    fetching: ModelDownload | None


class ProviderKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A key. It is stored encrypted, and never returned."""

    key: Annotated[str, Meta(min_length=4, max_length=10_000)]


class ModelTest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model of the provider is asked; its default one where it isn't said."""

    model: Annotated[str, Meta(max_length=500)] = ""


class TestOutcome(Struct, frozen=True):
    """Whether it works, and a sentence about it."""

    ok: bool
    message: str


class ProvidersApi:
    """The handlers for one user."""

    def __init__(self, access: SettingsAccess, fetching: DownloadTracker, on_close: Callable[[Callable[[], object]], None]) -> None:
        self._access = access
        self._fetching = fetching
        self._on_close = on_close
        self._fetchers: dict[str, ModelFetcher] = {}

    @get("/api/settings/providers", errors=FORBIDDEN)
    async def list_providers(self) -> ProviderList:
        """List the providers of models, whether each has a key, and the local models."""
        if self._access.person.role != "admin":
            raise HTTPException(403, self._access.refusal)
        return await asyncio.to_thread(self._list)

    @put("/api/settings/providers/{kind}/key", errors={**FORBIDDEN, **NOT_FOUND, 422: "it can't be a key"})
    async def store_key(self, kind: str, body: ProviderKey) -> ProviderView:
        """Store a provider's key, encrypted."""
        provider = self._provider(kind)
        key = body.key.strip()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise HTTPException(422, "This isn't a key: it has blanks, or characters that no key has. Copy it again.")
        await asyncio.to_thread(store_provider_key, kind, key)
        return await asyncio.to_thread(_to_view, provider)

    @delete("/api/settings/providers/{kind}/key", errors={**FORBIDDEN, **NOT_FOUND}, returns="the stored key is gone")
    async def remove_key(self, kind: str) -> None:
        """Remove a provider's stored key."""
        self._provider(kind)
        await asyncio.to_thread(remove_provider_key, kind)

    @post("/api/settings/providers/{kind}/test", errors={**FORBIDDEN, **NOT_FOUND, 422: "the provider has no default model"})
    async def test_key(self, kind: str, body: ModelTest | None = None) -> TestOutcome:
        """Send one small request to a model of the provider, and say how that went."""
        provider = self._provider(kind)
        name = (body.model if body else "").removeprefix(f"{kind}:") or provider.default_model
        if not name:
            raise HTTPException(422, f"{provider.title} has no default model; name one.")
        return await try_model(f"{kind}:{name}")

    @post(
        "/api/settings/downloads/{name}",
        errors={**FORBIDDEN, 404: "there is no such model", 409: "another one is being downloaded"},
        returns="the download; GET /api/models has its progress",
    )
    async def download_model(self, name: str) -> Accepted[ModelDownload]:
        """Download a local model in the background."""
        self._access.check()
        if name not in [model.name for model in LOCAL_MODELS]:
            raise HTTPException(404, f"There is no local model {name[:100]!r}.")
        now = self._fetching.now
        if now is not None and not now.problem and now.name != name:
            raise HTTPException(409, f"{now.name} is being downloaded; wait until it is here.")
        if name not in self._fetchers:
            self._fetchers[name] = ModelFetcher(find_local_model(name), self._fetching)
            self._on_close(self._fetchers[name].close)
        self._fetchers[name].begin()
        return self._fetching.now or ModelDownload(name)

    def _provider(self, kind: str) -> ModelProvider:
        self._access.check()
        if kind not in PROVIDERS:
            raise HTTPException(404, f"There is no provider {kind[:100]!r}.")
        return PROVIDERS[kind]

    def _list(self) -> ProviderList:
        local = [
            LocalModelView(each.name, each.title, each.size, each.licence, find_model_file(each) is not None)
            for each in LOCAL_MODELS
        ]
        shown = [provider for provider in PROVIDERS.values() if provider.keys]
        return ProviderList([_to_view(each) for each in shown], local, has_local_engine(), self._fetching.now)


def _to_view(provider: ModelProvider) -> ProviderView:
    variable = find_key_variable(provider)
    view = ProviderView(
        provider.kind, provider.title, variable or provider.keys[0], default_model=provider.default_model, local=provider.local
    )
    if variable:
        return replace(view, key="variable")
    try:
        added = stored_providers().get(provider.kind)
        if added is None:
            return view
        return replace(view, key="stored", added_at=added, ending=key_ending(load_provider_key(provider.kind)))
    except TreadleError as error:
        return replace(view, key="stored", problem=str(error))


async def try_model(name: str, resolve: Callable[[str], Model] = resolve_model) -> TestOutcome:
    """Send one small request to a model, and say how that went. The key is in no message."""
    began = time.monotonic()
    try:
        model = resolve(name)
        options = Options(max_tokens=TEST_TOKENS).for_model(model.traits)
        request = Request("Reply with OK.", History([person_message("OK?")]), options=options)
        async with asyncio.timeout(TEST_SECONDS):
            async for delta in model.reply(request):
                if isinstance(delta, ReplyEnded):
                    return TestOutcome(True, f"{name} replied after {time.monotonic() - began:.1f} s.")
        return TestOutcome(False, f"{name} sent no reply.")
    except TimeoutError:
        return TestOutcome(False, f"{name} sent no reply within {TEST_SECONDS:.0f} s.")
    except TreadleError as error:
        return TestOutcome(False, Redactor().text(str(error)))


def provider_routes(
    access: SettingsAccess, fetching: DownloadTracker, on_close: Callable[[Callable[[], object]], None]
) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(ProvidersApi(access, fetching, on_close))
