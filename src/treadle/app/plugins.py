"""What installed packages offer: models, toolsets, dialects and assistants register by entry points, ours like anyone's."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from treadle.core.errors import SettingsError

GROUPS = ("treadle.models", "treadle.toolsets", "treadle.dialects", "treadle.assistants")


class Plugin(Struct, frozen=True):
    """One thing a package offers."""

    group: str
    name: str
    value: str
    package: str
    version: str


def installed() -> list[Plugin]:
    """Everything on offer, in a stable order."""
    from importlib.metadata import entry_points

    found: list[Plugin] = []
    for group in GROUPS:
        for point in entry_points(group=group):
            package, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
            found.append(Plugin(group.removeprefix("treadle."), point.name, point.value, package, version))
    return sorted(found, key=lambda plugin: (plugin.group, plugin.name))


def names(group: str) -> list[str]:
    """The names in one group."""
    from importlib.metadata import entry_points

    return sorted({point.name for point in entry_points(group=f"treadle.{group}")})


def load(group: str, name: str) -> Callable[..., Any] | None:
    """What a package offers by this name; None where there is nothing."""
    from importlib.metadata import entry_points

    for point in entry_points(group=f"treadle.{group}", name=name):
        try:
            return point.load()
        except ImportError as error:
            raise SettingsError(f"The plug-in {name!r} ({point.value}) can't be loaded: {error}") from error
    return None


def settings_type(assistant: str) -> type[Struct] | None:
    """The struct whose fields are an assistant's keys in `treadle.toml`; None where it has none, or isn't installed."""
    try:
        kind = getattr(load("assistants", assistant), "settings", None)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever a stranger's module raises; `treadle assistants` says what it is
        return None
    return kind if isinstance(kind, type) and issubclass(kind, Struct) else None
