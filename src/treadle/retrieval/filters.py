"""Filters of passages by their tags: a condition in SQL, so that it applies before the best are chosen."""

from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.retrieval.query_terms import clean_text
from treadle.retrieval.values import TagQuery


class TagFilter(Struct, frozen=True):
    """A condition on `column`, with its parameters. Without keys it matches every passage."""

    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def condition(self, column: str) -> str:
        """Return the condition, to be appended to others."""
        inside = "SELECT passage FROM tags WHERE key = ? AND value IN ({})"
        return "".join(f" AND {column} IN ({inside.format(','.join('?' * len(values)))})" for _, values in self.keys)

    @property
    def filling(self) -> list[Any]:
        """The parameters of the condition, in order."""
        return [value for key, values in self.keys for value in (key, *values)]


def build_tag_filter(where: TagQuery | None) -> TagFilter:
    """Build a filter from `{"course": "MCP", "lesson": [0, 1]}`: every key must have one of its values. Compared as text."""
    return TagFilter(tuple((clean_text(key), _parse_values(key, given)) for key, given in (where or {}).items()))


def _parse_values(key: str, given: object) -> tuple[str, ...]:
    values = tuple(cast("Iterable[object]", given)) if isinstance(given, list | tuple | set | frozenset) else (given,)
    if not all(isinstance(value, str | int) for value in values):
        raise SettingsError(f"A search can't ask for {key!r} = {given!r}: tags are texts or whole numbers, or a list of them.")
    return tuple(clean_text(str(value)) for value in values)
