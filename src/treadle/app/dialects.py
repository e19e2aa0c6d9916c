"""From a name to a dialect: one of Treadle's own, or whatever a plug-in registers as `treadle.dialects`."""

from collections.abc import Sequence
from typing import cast

from treadle import dialects
from treadle.app.plugins import load, names
from treadle.core.errors import SettingsError
from treadle.core.seams import Dialect


def dialect_of(name: str, besides: Sequence[str] = ()) -> Dialect:
    """The dialect by this name, long or short. `besides` are the names that would have been right too."""
    found = dialects.find(name) or cast("Dialect | None", load("dialects", name))
    if found is None:
        known = ", ".join([*besides, *sorted({*dialects.names(), *names("dialects")})])
        raise SettingsError(f"There is no dialect {name!r}. There are: {known}.")
    return found
