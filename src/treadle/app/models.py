"""From a name to a model: `openai:gpt-4o`, `anthropic:…`, `ollama:…`, or whatever a plug-in registers as `treadle.models`."""

import os
from typing import Any

from treadle.app.plugins import load, names
from treadle.core.errors import SettingsError, UnknownModel
from treadle.core.seams import Model

HINT = "Set TREADLE_MODEL or name one, such as openai:gpt-4o-mini, anthropic:claude-sonnet-4-5 or ollama:qwen3."
LOCAL = "qwen2.5-coder-1.5b"  # the model that is used where nothing was set up


def model_of(model: str | Model, **settings: Any) -> Model:
    """The model by this name, or the model itself."""
    if not isinstance(model, str):
        return model
    kind, colon, name = model.partition(":")
    if not colon or not name:
        near = f" Did you mean openai:{model}, or anthropic:{model}?" if model else ""
        raise UnknownModel(f"A model's name says where it lives: KIND:NAME, but {model!r} doesn't.{near} {_kinds()}")
    make = load("models", kind)
    if make is None:
        raise UnknownModel(f"No kind of model is called {kind!r}. {_kinds()}")
    return make(name, **settings)


def model_at(name: str, base_url: str = "") -> Model:
    """The model by this name, on the server at that address where one is given."""
    if not base_url:
        return model_of(name)
    try:
        return model_of(name, base_url=base_url)
    except TypeError as error:
        raise SettingsError(f"{name} has no server, so an address means nothing to it.") from error


def _kinds() -> str:
    return f"There are: {', '.join(names('models'))}."


def settled_model() -> tuple[str, str]:
    """The model that the person settled on and the address of its server: TREADLE_MODEL, else what their treadle.toml says."""
    chosen = os.environ.get("TREADLE_MODEL")
    if chosen:
        return chosen, ""
    from treadle.app.settings import user_settings  # whoever names a model doesn't pay for it

    model = user_settings().model
    return (model.name, model.base_url) if model.name else ("", "")


async def default_model() -> str:
    """The model to use when none was named: the one that was settled on, else a running Ollama's first, else the local one."""
    chosen, _ = settled_model()
    if chosen:
        return chosen
    from treadle.models.ollama import installed_models

    local = await installed_models()
    if local:
        return f"ollama:{local[0]}"
    from treadle.models.catalogue import entry
    from treadle.models.local import path_of

    if runs_local_models() and path_of(entry(LOCAL)):
        return f"llamacpp:{LOCAL}"
    raise UnknownModel(f"No model was named, and no Ollama is running here. {HINT} {_local_hint()}")


def runs_local_models() -> bool:
    """Whether the engine for local models is installed."""
    from treadle.models.llamacpp.child import is_installed

    return is_installed()


def _local_hint() -> str:
    install = "" if runs_local_models() else "pip install 'treadle[local]' && "
    return f"Or get one that runs here, without a key: {install}treadle models pull {LOCAL}"
