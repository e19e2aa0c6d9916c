"""What installed packages offer: models, toolsets, dialects and assistants register by entry points, ours like anyone's."""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from treadle.core.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint, EntryPoints

GROUPS = ("treadle.models", "treadle.toolsets", "treadle.dialects", "treadle.assistants")


class Plugin(Struct, frozen=True):
    """One thing a package offers."""

    group: str
    name: str
    value: str
    package: str
    version: str


def points(group: str) -> "EntryPoints":
    """The entry points of one group."""
    return _points(f"treadle.{group}", tuple(sys.path))


@lru_cache
def _points(group: str, path: tuple[str, ...]) -> "EntryPoints":  # pyright: ignore[reportUnusedParameter]
    """Those on this module path: a file of every installed package is read for it, which is too slow for every request."""
    from importlib.metadata import entry_points

    return entry_points(group=group)


def package_of(point: "EntryPoint") -> tuple[str, str]:
    """The name and the version of the package that an entry point is of."""
    return _package(point.dist) if point.dist else ("", "")


@lru_cache
def _package(distribution: "Distribution") -> tuple[str, str]:
    """Its metadata is a file that is parsed each time it is asked for, and many entry points are of one package."""
    metadata = distribution.metadata
    return metadata["Name"], metadata["Version"]


def installed() -> list[Plugin]:
    """Everything on offer, in a stable order."""
    found: list[Plugin] = []
    for group in GROUPS:
        for point in points(group.removeprefix("treadle.")):
            package, version = package_of(point)
            found.append(Plugin(group.removeprefix("treadle."), point.name, point.value, package, version))
    return sorted(found, key=lambda plugin: (plugin.group, plugin.name))


def names(group: str) -> list[str]:
    """The names in one group."""
    return sorted({point.name for point in points(group)})


def load(group: str, name: str) -> Callable[..., Any] | None:
    """What a package offers by this name; None where there is nothing."""
    for point in points(group).select(name=name):
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
