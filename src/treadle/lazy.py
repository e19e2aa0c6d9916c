"""Lazy imports: a package offers names of many modules, each of which is imported when one of its names is first used."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, homes: Mapping[str, str], names: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], Sequence[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Args:
        package: the package's `__name__`.
        homes: for each lazy name the module that defines it, followed by `:name` where it has another name there.
        names: the package's `__all__`.

    """

    def get_attribute(name: str) -> Any:
        module, _, other = homes.get(name, "").partition(":")
        if not module:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), other or name)
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute, lambda: names
