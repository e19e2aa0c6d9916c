"""How models write calls in text, and how almost-JSON becomes JSON. Pure, and linear in what it reads.

Read `forms` first, then `reply`. A grammar family is a file with a `DIALECTS` table, loaded when one of its names is asked for.
"""

from importlib import import_module

from treadle.core.errors import SettingsError
from treadle.core.seams import Dialect

_FILES = {
    "auto": "every",
    "bash": "commands",
    "hermes": "tagged_json",
    "json": "bare_json",
    "xml": "tool_use",
}


def named(name: str) -> Dialect:
    """The dialect by that name."""
    if name not in _FILES:
        raise SettingsError(f"There is no dialect {name!r}; choose one of {', '.join(sorted(_FILES))}.")
    return import_module(f"treadle.dialects.{_FILES[name]}").DIALECTS[name]


def auto(*, strict: bool) -> Dialect:
    """All forms at once. `strict` is for models with native calling that may write a call as text all the same."""
    every = import_module("treadle.dialects.every")
    return every.STRICT if strict else every.AUTO
