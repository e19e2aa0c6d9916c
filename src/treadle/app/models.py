"""From a name to a model: `openai:gpt-4o`, `anthropic:…`, `ollama:…`, or whatever a plug-in registers as `treadle.models`."""

import os
from typing import Any

from treadle.app.plugins import load, names
from treadle.core.errors import UnknownModel
from treadle.core.seams import Model

HINT = "Set TREADLE_MODEL or name one, such as openai:gpt-4o-mini, anthropic:claude-sonnet-4-5 or ollama:qwen3."


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


def _kinds() -> str:
    return f"There are: {', '.join(names('models'))}."


async def default_model() -> str:
    """The model to use when none was named: TREADLE_MODEL, else a running Ollama's first."""
    chosen = os.environ.get("TREADLE_MODEL")
    if chosen:
        return chosen
    from treadle.models.ollama import installed_models

    local = await installed_models()
    if local:
        return f"ollama:{local[0]}"
    raise UnknownModel(f"No model was named, and no Ollama is running here. {HINT}")
