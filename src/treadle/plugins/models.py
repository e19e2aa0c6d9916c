"""Resolve a name to a model: `openai:gpt-5-mini`, `anthropic:…`, or one that a plug-in registers as `treadle.models`.

Several names separated by commas are a fallback: `openai:gpt-6, anthropic:claude-opus-5-5`.
"""

import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from treadle.core.errors import MissingKey, SettingsError, UnknownModel
from treadle.core.requests import Delta, Request, Traits
from treadle.core.seams import Model
from treadle.models.providers import PROVIDERS
from treadle.plugins.entry_points import load_plugin, plugin_names
from treadle.tools.name_matching import nearest_names

if TYPE_CHECKING:
    from pathlib import Path

    from treadle.models.factory import ProviderConnection
    from treadle.models.repairs import Repair

HINT = "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or another provider's key, or name a model: openai:gpt-5-mini, ollama:qwen3 ..."
LOCAL = "qwen2.5-coder-1.5b"  # the model that is used where nothing was set up


ModelLike = str | Model | Sequence[str | Model]


def resolve_model(model: str | Model, **settings: Any) -> Model:
    """Return the model by this name, or the model itself; a fallback where there are several names."""
    if not isinstance(model, str):
        return model
    several = split_model_names(model)
    if len(several) > 1:
        return _make_fallback(several, settings)
    kind, name = _split_name(model)
    if kind in PROVIDERS:
        from treadle.models.factory import make_model  # not imported for a model object

        return make_model(kind, name, _connection_for(kind, settings))
    make = load_plugin("models", kind)
    if make is None:
        raise _unknown_kind(kind, name)
    return make(name, **settings)


def check_model_name(spec: str) -> None:
    """Raise `UnknownModel` if nothing can be called by this name. Keys aren't needed: another process may have them."""
    for model in split_model_names(spec):
        kind, name = _split_name(model)
        if kind not in _provider_names():
            raise _unknown_kind(kind, name)


def _split_name(model: str) -> tuple[str, str]:
    kind, colon, name = model.partition(":")
    if not colon or not name:
        near = f" Did you mean openai:{model}, or anthropic:{model}?" if model else ""
        raise UnknownModel(f"A model's name says where it lives: KIND:NAME, but {model!r} doesn't.{near} {_describe_providers()}")
    return kind, name


def _unknown_kind(kind: str, name: str) -> UnknownModel:
    near = nearest_names(kind, _provider_names())
    meant = f" Did you mean {near[0]}:{name}?" if near else ""
    return UnknownModel(f"No kind of model is called {kind!r}.{meant} {_describe_providers()}")


class KeylessModel:
    """The model of an agent that was created before its key was set. The agent looks for the key again when a run begins."""

    traits = Traits(structured_output="yes")

    def __init__(self, model: ModelLike, missing: MissingKey) -> None:
        first = model if isinstance(model, str) or not isinstance(model, Sequence) else model[0]
        self.name = split_model_names(first)[0] if isinstance(first, str) else first.name
        self.missing = missing

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Raise the error: there is no key."""
        raise self.missing
        yield  # so that this is a generator


def split_model_names(spec: str) -> list[str]:
    """Split a text into model names, separated by commas that are followed by a provider (or a blank and any word) and a colon."""
    if "," not in spec:
        return [spec]
    known = "|".join(map(re.escape, _provider_names()))
    return [name.strip() for name in re.split(rf",\s*(?=(?:{known}):)|,\s+(?=[a-z][a-z0-9_-]*:\S)", spec)]


def model_spec(model: Model) -> str:
    """Return the text from which `resolve_model` makes this model again: its name, or the names of all models of a fallback."""
    return str(getattr(model, "spec", "")) or model.name


def _make_fallback(names: list[str], settings: dict[str, Any]) -> Model:
    from treadle.models.fallback import FallbackModel

    if settings.get("base_url"):
        raise SettingsError(
            "An address is that of one model's server, but there are several models: leave it out, and set base_url under "
            "[providers.KIND] in your treadle.toml."
        )
    return FallbackModel([partial(resolve_model, name, **settings) for name in names], spec=", ".join(names))


def _connection_for(kind: str, settings: dict[str, Any]) -> "ProviderConnection":
    """Return how to reach a provider: as given, else by the user's settings.

    What is left open is resolved by variables and the provider table.
    """
    from treadle.models.factory import ProviderConnection
    from treadle.settings.loader import user_settings

    own, stored = user_settings().providers.get(kind), _stored_key(kind, settings)
    if own is None:
        return ProviderConnection(**settings, **stored)
    headers = {**own.headers, **settings.pop("headers", {})}
    said = {name: getattr(own, name) for name in ("base_url", "api_version", "region", "project", "location")}
    return ProviderConnection(**{**said, **{name: value for name, value in settings.items() if value}}, **stored, headers=headers)


def _stored_key(kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the key of a provider that was added on the settings page, unless one is given or a variable holds one."""
    from treadle.models.factory import find_key_variable
    from treadle.settings.provider_keys import load_provider_key

    provider = PROVIDERS[kind]
    if settings.get("api_key") or find_key_variable(provider):
        return {}
    settings.pop("api_key", None)
    key = load_provider_key(kind)
    return {"api_key": key, "key_source": f"the key of {provider.title} on the settings page"} if key else {}


def persist_repairs() -> None:
    """Persist learned request repairs (`models.repairs`) in the home folder: for commands, servers and workers."""
    from treadle.models.repairs import repair_memory

    if repair_memory.load is None:
        repair_memory.load, repair_memory.save = _load_repairs, _save_repairs


def _repairs_file() -> "Path":
    from treadle.home import home_folder

    return home_folder() / "repairs.json"


def _load_repairs() -> "dict[str, tuple[Repair, ...]]":
    from treadle.models.repairs import Repair

    try:
        return msgspec.json.decode(_repairs_file().read_bytes(), type=dict[str, tuple[Repair, ...]])
    except (OSError, msgspec.DecodeError):  # what can't be read is learnt again
        return {}


def _save_repairs(known: "dict[str, tuple[Repair, ...]]") -> None:
    path = _repairs_file()
    with suppress(OSError):  # a home that can't be written: it is learnt again
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(known)))
        fresh.replace(path)


def model_at(name: str, base_url: str = "") -> Model:
    """Return the model of this name, on the server at `base_url` where given. Learned repairs are persisted."""
    persist_repairs()
    if not base_url:
        return resolve_model(name, **_configured_context(name))
    try:
        return resolve_model(name, base_url=base_url, **_configured_context(name))
    except TypeError as error:
        raise SettingsError(f"{name} has no server, so a base URL doesn't apply to it.") from error


def _configured_context(name: str) -> dict[str, int]:
    """Return the context size configured for the user's configured model."""
    from treadle.settings.loader import user_settings

    model = user_settings().model
    return (
        {"context": model.context}
        if model.context is not None and name == model.name and name.partition(":")[0] in PROVIDERS
        else {}
    )


def _provider_names() -> list[str]:
    return sorted({*PROVIDERS, *plugin_names("models")})


def _describe_providers() -> str:
    return f"There are: {', '.join(_provider_names())}."


def configured_model() -> tuple[str, str]:
    """Return the configured model and its server's URL: TREADLE_MODEL, else the user's treadle.toml."""
    chosen = os.environ.get("TREADLE_MODEL")
    if chosen:
        return chosen, ""
    from treadle.settings.loader import user_settings  # not imported for a named model

    model = user_settings().model
    return (model.name, model.base_url) if model.name else ("", "")


def model_from_keys() -> tuple[str, str]:
    """Return the default model of the first provider that has a key, and the key's variable or file; empty where none has.

    A variable counts before a key of the settings page. `LLM_PROVIDER` selects the provider where several keys are set,
    and `OPENAI_MODEL` and the like the model.
    """
    from treadle.models.factory import find_key_variable
    from treadle.settings.provider_keys import PROVIDER_KEYS_FILE, stored_providers

    wanted = os.environ.get("LLM_PROVIDER", "").strip().lower()
    order = [PROVIDERS[kind] for kind in ([wanted, *PROVIDERS] if wanted in PROVIDERS else PROVIDERS)]
    with_key = [(provider, variable) for provider in order if (variable := find_key_variable(provider))]
    stored = stored_providers()
    with_key += [(provider, PROVIDER_KEYS_FILE) for provider in order if provider.kind in stored]
    for provider, source in with_key:
        named = next((os.environ[name] for name in provider.model_variables if os.environ.get(name)), provider.default_model)
        if named:
            return f"{provider.kind}:{named}", source
    return "", ""


async def default_model() -> str:
    """Return the model to use when none is named.

    The configured one, else the default of a provider whose key is set, else a running Ollama's first, else the local
    one.
    """
    chosen, _ = configured_model()
    if chosen:
        return chosen
    keyed, _ = model_from_keys()
    if keyed:
        return keyed
    from treadle.models.wires.ollama import list_ollama_models

    local = await list_ollama_models()
    if local:
        return f"ollama:{local[0]}"
    from treadle.models.downloads.catalogue import find_local_model
    from treadle.models.downloads.storage import find_model_file

    if has_local_engine() and find_model_file(find_local_model(LOCAL)):
        return f"llamacpp:{LOCAL}"
    raise UnknownModel(f"No model was named, no provider's key is set, and no Ollama is running here. {HINT} {_local_hint()}")


def has_local_engine() -> bool:
    """Whether the engine for local models is installed."""
    from treadle.models.llamacpp.child import is_llama_installed

    return is_llama_installed()


def _local_hint() -> str:
    install = "" if has_local_engine() else "pip install 'treadle[local]' && "
    return f"Or get one that runs here, without a key: {install}treadle models pull {LOCAL}"
