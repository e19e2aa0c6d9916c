"""From a name to a model: `openai:gpt-5-mini`, `anthropic:…`, or whatever a plug-in registers as `treadle.models`.

Several names with commas between them are a fallback: `openai:gpt-6, anthropic:claude-opus-5-5`.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from treadle.app.plugins import load, names
from treadle.core.errors import SettingsError, UnknownModel
from treadle.core.seams import Model
from treadle.models.providers import PROVIDERS
from treadle.tools.names import nearest

if TYPE_CHECKING:
    from treadle.models.factory import Connection
    from treadle.models.repairs import Repair

HINT = "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or another provider's key, or name a model: openai:gpt-5-mini, ollama:qwen3 ..."
LOCAL = "qwen2.5-coder-1.5b"  # the model that is used where nothing was set up


ModelLike = str | Model | Sequence[str | Model]


def model_of(model: str | Model, **settings: Any) -> Model:
    """Return the model by this name, or the model itself; a fallback where there are several names."""
    if not isinstance(model, str):
        return model
    several = names_in(model)
    if len(several) > 1:
        return _fallback(several, settings)
    kind, colon, name = model.partition(":")
    if not colon or not name:
        near = f" Did you mean openai:{model}, or anthropic:{model}?" if model else ""
        raise UnknownModel(f"A model's name says where it lives: KIND:NAME, but {model!r} doesn't.{near} {_kinds()}")
    if kind in PROVIDERS:
        from treadle.models.factory import make_model  # whoever brings a model of their own doesn't pay for it

        return make_model(kind, name, _connection(kind, settings))
    make = load("models", kind)
    if make is None:
        near = nearest(kind, _names())
        meant = f" Did you mean {near[0]}:{name}?" if near else ""
        raise UnknownModel(f"No kind of model is called {kind!r}.{meant} {_kinds()}")
    return make(name, **settings)


def names_in(spec: str) -> list[str]:
    """Return the names of models in a text: separated by commas, each of which a kind and a colon follow."""
    if "," not in spec:
        return [spec]
    return [name.strip() for name in re.split(rf",\s*(?=(?:{'|'.join(map(re.escape, _names()))}):)", spec)]


def spec_of(model: Model) -> str:
    """Return the text that `model_of` makes this model of again: its name, or the names of all models of a fallback."""
    return str(getattr(model, "spec", "")) or model.name


def _fallback(names: list[str], settings: dict[str, Any]) -> Model:
    from treadle.models.fallback import Fallback

    if settings.get("base_url"):
        raise SettingsError(
            "An address is that of one model's server, but there are several models: leave it out, and set base_url under "
            "[providers.KIND] in your treadle.toml."
        )
    return Fallback([partial(model_of, name, **settings) for name in names], spec=", ".join(names))


def _connection(kind: str, settings: dict[str, Any]) -> "Connection":
    """How a provider is reached: as given, else as the user's settings say. What is left open, variables and the table know."""
    from treadle.app.settings import user_settings
    from treadle.models.factory import Connection

    own = user_settings().providers.get(kind)
    if own is None:
        return Connection(**settings)
    headers = {**own.headers, **settings.pop("headers", {})}
    said = {name: getattr(own, name) for name in ("base_url", "api_version", "region", "project", "location")}
    return Connection(**{**said, **{name: value for name, value in settings.items() if value}}, headers=headers)


def remember_repairs() -> None:
    """Keep what is learnt about models (`models.repairs`) in the home folder, for whoever has one: commands, servers, workers."""
    from treadle.models.repairs import memory

    if memory.load is None:
        memory.load, memory.save = _load_repairs, _save_repairs


def _repairs_file() -> Path:
    from treadle.app.home import home_folder

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
    """The model by this name, on the server at that address where one is given. What is learnt about it is kept."""
    remember_repairs()
    if not base_url:
        return model_of(name, **_settled_context(name))
    try:
        return model_of(name, base_url=base_url, **_settled_context(name))
    except TypeError as error:
        raise SettingsError(f"{name} has no server, so an address means nothing to it.") from error


def _settled_context(name: str) -> dict[str, int]:
    """How many tokens the model that the person settled on can read, where they say so."""
    from treadle.app.settings import user_settings

    model = user_settings().model
    return (
        {"context": model.context}
        if model.context is not None and name == model.name and name.partition(":")[0] in PROVIDERS
        else {}
    )


def _names() -> list[str]:
    return sorted({*PROVIDERS, *names("models")})


def _kinds() -> str:
    return f"There are: {', '.join(_names())}."


def settled_model() -> tuple[str, str]:
    """The model that the person settled on and the address of its server: TREADLE_MODEL, else what their treadle.toml says."""
    chosen = os.environ.get("TREADLE_MODEL")
    if chosen:
        return chosen, ""
    from treadle.app.settings import user_settings  # whoever names a model doesn't pay for it

    model = user_settings().model
    return (model.name, model.base_url) if model.name else ("", "")


def keyed_model() -> tuple[str, str]:
    """Return the default model of the first provider whose key is set, and the variable that holds it; nothing where none is.

    `LLM_PROVIDER` says which provider is meant where several keys are set, and `OPENAI_MODEL` and the like which model.
    """
    from treadle.models.factory import key_of

    wanted = os.environ.get("LLM_PROVIDER", "").strip().lower()
    order = [wanted, *PROVIDERS] if wanted in PROVIDERS else list(PROVIDERS)
    for kind in order:
        provider = PROVIDERS[kind]
        named = next((os.environ[name] for name in provider.model_variables if os.environ.get(name)), provider.default_model)
        if named and (variable := key_of(provider)):
            return f"{kind}:{named}", variable
    return "", ""


async def default_model() -> str:
    """The model to use when none was named.

    The one that was settled on, else the default of a provider whose key is set, else a running Ollama's first, else the local one.
    """
    chosen, _ = settled_model()
    if chosen:
        return chosen
    keyed, _ = keyed_model()
    if keyed:
        return keyed
    from treadle.models.ollama import installed_models

    local = await installed_models()
    if local:
        return f"ollama:{local[0]}"
    from treadle.models.catalogue import entry
    from treadle.models.local import path_of

    if runs_local_models() and path_of(entry(LOCAL)):
        return f"llamacpp:{LOCAL}"
    raise UnknownModel(f"No model was named, no provider's key is set, and no Ollama is running here. {HINT} {_local_hint()}")


def runs_local_models() -> bool:
    """Whether the engine for local models is installed."""
    from treadle.models.llamacpp.child import is_installed

    return is_installed()


def _local_hint() -> str:
    install = "" if runs_local_models() else "pip install 'treadle[local]' && "
    return f"Or get one that runs here, without a key: {install}treadle models pull {LOCAL}"
