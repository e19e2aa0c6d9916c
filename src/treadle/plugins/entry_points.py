"""Plug-ins of installed packages: models, toolsets, dialects and assistants, registered by entry points.

The built-in ones are registered the same way.
"""

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
    """One entry point of a package."""

    group: str
    name: str
    value: str
    package: str
    version: str


def entry_points_of(group: str) -> "EntryPoints":
    """Return the entry points of one group."""
    return _cached_entry_points(f"treadle.{group}", tuple(sys.path))


@lru_cache
def _cached_entry_points(group: str, path: tuple[str, ...]) -> "EntryPoints":  # pyright: ignore[reportUnusedParameter]
    """Return the entry points for this module path, cached: reading a file of every installed package is too slow per request."""
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


def list_plugins() -> list[Plugin]:
    """Return all plug-ins, in a stable order."""
    found: list[Plugin] = []
    for group in GROUPS:
        for point in entry_points_of(group.removeprefix("treadle.")):
            package, version = package_of(point)
            found.append(Plugin(group.removeprefix("treadle."), point.name, point.value, package, version))
    return sorted(found, key=lambda plugin: (plugin.group, plugin.name))


def plugin_names(group: str) -> list[str]:
    """Return the plug-in names of one group."""
    return sorted({point.name for point in entry_points_of(group)})


def load_plugin(group: str, name: str) -> Callable[..., Any] | None:
    """Load the plug-in of this name; return None where there is none."""
    for point in entry_points_of(group).select(name=name):
        try:
            return point.load()
        except ImportError as error:
            raise SettingsError(f"The plug-in {name!r} ({point.value}) can't be loaded: {error}") from error
    return None


def assistant_settings_type(assistant: str) -> type[Struct] | None:
    """Return the struct of an assistant's keys in `treadle.toml`; None where it has none, or isn't installed."""
    try:
        kind = getattr(load_plugin("assistants", assistant), "settings", None)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever a stranger's module raises; `treadle assistants` says what it is
        return None
    return kind if isinstance(kind, type) and issubclass(kind, Struct) else None
