"""How a model calls tools: natively, constrained to a schema, or in a text dialect.

Chosen by name, by a probe, or by its traits.

`native` and `held` are modes like any dialect's name. Probe results are stored in the home folder, in `models.json`.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.core.seams import Model
from treadle.plugins.dialects import dialect_of
from treadle.plugins.models import ModelLike, resolve_model

if TYPE_CHECKING:
    from pathlib import Path

    from treadle.models.fallback import FallbackModel

NATIVE, HELD = "native", "held"


class CallingMode(Struct, frozen=True):
    """A probe's result for a model: the best mode, and the confidence threshold for calling a tool."""

    dialect: str
    sure: float = 0.0
    flat: bool = False
    right: int = 0
    of: int = 0


def enable_tool_calls(model: ModelLike, dialect: str = "", *, way: CallingMode | None = None) -> Model:
    """Wrap a model in what it needs to call tools. `dialect` says how; else the probe's result, or what is known of the model."""
    if isinstance(model, Sequence) and not isinstance(model, str):
        return _make_fallback(model, dialect)
    model = resolve_model(model)
    if (several := _as_fallback(model)) is not None:
        return several.wrap(partial(enable_tool_calls, dialect=dialect))
    settled = bool(dialect or way)
    way = way or load_calling_modes().get(model.name)
    chosen = dialect or (way.dialect if way else "") or _default_mode(model)
    if chosen == NATIVE:
        return model if settled else _with_tool_fallback(model)
    spoken = _wrap_model(model, chosen, way, narrowed=bool(dialect))
    if way.flat if way else model.traits.flat:
        from treadle.models.calling.flat_tools import FlatToolsModel

        return FlatToolsModel(spoken)
    return spoken


def _as_fallback(model: Model) -> "FallbackModel | None":
    from treadle.models.fallback import FallbackModel

    return model if isinstance(model, FallbackModel) else None


def _make_fallback(models: "Sequence[str | Model]", dialect: str) -> Model:
    """Return a fallback of several models, each wrapped as it needs."""
    from treadle.models.fallback import FallbackModel

    if not models:
        raise SettingsError("A list of models needs at least one: the first that answers is used.")
    return FallbackModel([partial(enable_tool_calls, model, dialect) for model in models])


def check_calling_mode(name: str) -> None:
    """Raise if there is neither a mode nor a dialect of this name."""
    if name not in (NATIVE, HELD):
        dialect_of(name, (NATIVE, HELD))


def calls_natively(model: Model) -> bool:
    """Whether a model's calls come from its server rather than from its text, so that a call in its text is a mistake."""
    from treadle.models.fallback import ToolFallbackModel

    if (several := _as_fallback(model)) is not None:
        return all(map(calls_natively, several.models))
    return isinstance(model, ToolFallbackModel) or model.traits.native_calls


def _with_tool_fallback(model: Model) -> Model:
    """Wrap a model whose server may turn out to reject tools: calls are then requested in its text."""
    from treadle.models.fallback import ToolFallbackModel

    return ToolFallbackModel(model, lambda: _wrap_model(model, "auto", None, narrowed=False))


def _default_mode(model: Model) -> str:
    if model.traits.native_calls:
        return NATIVE
    return HELD if model.traits.holds else model.traits.dialect


def _wrap_model(model: Model, chosen: str, way: CallingMode | None, *, narrowed: bool) -> Model:
    if chosen == HELD:
        from treadle.models.calling.constrained import ConstrainedModel

        return ConstrainedModel(model, sure=way.sure) if way else ConstrainedModel(model)
    from treadle.models.calling.prompted import PromptedModel

    return PromptedModel(model, dialect_of(chosen, (NATIVE, HELD)), heard=None if narrowed else dialect_of("auto"))


def calling_modes_file() -> "Path":
    """Return the path of the stored probe results."""
    from treadle.home import home_folder

    return home_folder() / "models.json"


def load_calling_modes() -> dict[str, CallingMode]:
    """Return the probe results by model name. An unreadable file counts as empty."""
    try:
        return msgspec.json.decode(calling_modes_file().read_bytes(), type=dict[str, CallingMode])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def save_calling_mode(name: str, way: CallingMode) -> None:
    """Store a probe's result."""
    _write_calling_modes({**load_calling_modes(), name: way})


def forget_calling_mode(name: str) -> bool:
    """Delete a model's probe result. Return False where there was none."""
    ways = load_calling_modes()
    if ways.pop(name, None) is None:
        return False
    _write_calling_modes(ways)
    return True


def _write_calling_modes(ways: dict[str, CallingMode]) -> None:
    path = calling_modes_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(ways)))
    fresh.replace(path)
