"""Which passages a search may find at all, by their tags: a condition in SQL, so that it holds before the best are chosen."""

from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.stores.passages.asked import plain
from treadle.stores.passages.values import Where


class Filter(Struct, frozen=True):
    """A condition on `column`, with what it is filled with. It holds for every passage where there is none."""

    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def condition(self, column: str) -> str:
        """The condition, to stand after others."""
        inside = "SELECT passage FROM tags WHERE key = ? AND value IN ({})"
        return "".join(f" AND {column} IN ({inside.format(','.join('?' * len(values)))})" for _, values in self.keys)

    @property
    def filling(self) -> list[Any]:
        """What the condition is filled with, in order."""
        return [value for key, values in self.keys for value in (key, *values)]


def filter_of(where: Where | None) -> Filter:
    """From `{"course": "MCP", "lesson": [0, 1]}`: every key has to have the value, or one of the values. Compared as text."""
    return Filter(tuple((plain(key), _values(key, given)) for key, given in (where or {}).items()))


def _values(key: str, given: object) -> tuple[str, ...]:
    values = tuple(cast("Iterable[object]", given)) if isinstance(given, list | tuple | set | frozenset) else (given,)
    if not all(isinstance(value, str | int) for value in values):
        raise SettingsError(f"A search can't ask for {key!r} = {given!r}: tags are texts or whole numbers, or a list of them.")
    return tuple(plain(str(value)) for value in values)
