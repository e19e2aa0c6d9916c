"""Look up a dialect by name: a built-in one, or one that a plug-in registers as `treadle.dialects`."""

from collections.abc import Sequence
from typing import cast

from treadle import dialects
from treadle.core.errors import SettingsError
from treadle.core.seams import Dialect
from treadle.plugins.entry_points import load_plugin, plugin_names
from treadle.tools.name_matching import hint_for


def dialect_of(name: str, besides: Sequence[str] = ()) -> Dialect:
    """Return the dialect of this name, long or short. `besides` are further valid names, for the error message."""
    found = dialects.find_dialect(name) or cast("Dialect | None", load_plugin("dialects", name))
    if found is None:
        known = [*besides, *sorted({*dialects.dialect_names(aliases=True), *plugin_names("dialects")})]
        raise SettingsError(f"There is no dialect {name!r}. {hint_for(name, known)}")
    return found
