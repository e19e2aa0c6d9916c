"""How a model is made to call: natively, held to a shape, or in a text dialect. Chosen by a name, by a probe, or by its traits.

`native` and `held` are ways like any dialect's name. What a probe found out is kept in the home folder, in `models.json`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle.app.dialects import dialect_of
from treadle.app.models import ModelLike, model_of
from treadle.core.errors import SettingsError
from treadle.core.seams import Model

if TYPE_CHECKING:
    from treadle.models.fallback import Fallback

NATIVE, HELD = "native", "held"


class Way(Struct, frozen=True):
    """What a probe found out about a model: the way that worked best, and how sure it has to be that a tool fits."""

    dialect: str
    sure: float = 0.0
    flat: bool = False
    right: int = 0
    of: int = 0


def able(model: ModelLike, dialect: str = "", *, way: Way | None = None) -> Model:
    """The model with what it needs around it to call tools. `dialect` says how; else what was probed, or is known of it."""
    if isinstance(model, Sequence) and not isinstance(model, str):
        return _any_of(model, dialect)
    model = model_of(model)
    if (several := _fallback_in(model)) is not None:
        return several.wrapped(partial(able, dialect=dialect))
    settled = bool(dialect or way)
    way = way or remembered().get(model.name)
    chosen = dialect or (way.dialect if way else "") or _usual(model)
    if chosen == NATIVE:
        return model if settled else _until_refused(model)
    spoken = _speaking(model, chosen, way, narrowed=bool(dialect))
    if way.flat if way else model.traits.flat:
        from treadle.models.flat import Flat

        return Flat(spoken)
    return spoken


def _fallback_in(model: Model) -> "Fallback | None":
    from treadle.models.fallback import Fallback

    return model if isinstance(model, Fallback) else None


def _any_of(models: "Sequence[str | Model]", dialect: str) -> Model:
    """The first of several models that answers, each with what it needs."""
    from treadle.models.fallback import Fallback

    if not models:
        raise SettingsError("A list of models needs at least one: the first that answers is used.")
    return Fallback([partial(able, model, dialect) for model in models])


def is_native(model: Model) -> bool:
    """Whether a model's calls come from its server rather than out of its text, so that a call in its text is a slip."""
    from treadle.models.fallback import ToolFallback

    if (several := _fallback_in(model)) is not None:
        return all(map(is_native, several.models))
    return isinstance(model, ToolFallback) or model.traits.native_calls


def _until_refused(model: Model) -> Model:
    """A model whose server may turn out to take no tools: calls are then asked for in its text."""
    from treadle.models.fallback import ToolFallback

    return ToolFallback(model, lambda: _speaking(model, "auto", None, narrowed=False))


def _usual(model: Model) -> str:
    if model.traits.native_calls:
        return NATIVE
    return HELD if model.traits.holds else model.traits.dialect


def _speaking(model: Model, chosen: str, way: Way | None, *, narrowed: bool) -> Model:
    if chosen == HELD:
        from treadle.models.held import Held

        return Held(model, sure=way.sure if way else 0.0)
    from treadle.models.spoken import Spoken

    return Spoken(model, dialect_of(chosen, (NATIVE, HELD)), heard=None if narrowed else dialect_of("auto"))


def ways_file() -> Path:
    """Where what probes found out is kept."""
    from treadle.app.home import home_folder

    return home_folder() / "models.json"


def remembered() -> dict[str, Way]:
    """What probes found out, by the names of models. A file that can't be read counts as none."""
    try:
        return msgspec.json.decode(ways_file().read_bytes(), type=dict[str, Way])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def remember(name: str, way: Way) -> None:
    """Keep what a probe found out."""
    _keep({**remembered(), name: way})


def forget(name: str) -> bool:
    """Drop what a probe found out about a model. False where there was nothing."""
    ways = remembered()
    if ways.pop(name, None) is None:
        return False
    _keep(ways)
    return True


def _keep(ways: dict[str, Way]) -> None:
    path = ways_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(ways)))
    fresh.replace(path)
