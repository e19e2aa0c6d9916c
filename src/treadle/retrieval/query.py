"""A query of passages: its terms for full text search, and its filter by tags. No text is parsed as a query language."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.retrieval.values import TagQuery

if TYPE_CHECKING:
    from sqlite3 import Connection

MAX_QUERY = 8_000  # characters of a question that are looked at
MAX_WORDS = 64  # of them, different ones; the first that come
MAX_MATCHES = 6_000  # passages that are ranked; in a large store the commonest words are left out until there are no more

_WORD = re.compile(r"\w+")

# Words that say how something is asked rather than what about. They count where there are no others.
_COMMON_TEXT = """
a about am an and any are as at be because been but by can could did do does doing for from had has have having he her here him
his how i if in into is it its itself just let me more most my no nor not of off on or our out over own please she should so some
such tell than that the their them then there these they this those through to too under until up us very was we were what when
where which while who whom why will with would you your yours show explain give
"""
_COMMON = frozenset(_COMMON_TEXT.split())


class QueryTerm(Struct, frozen=True):
    """A word of a query: as written, its stems, how many passages have it, and its weight."""

    word: str
    stems: tuple[str, ...]
    passages: int
    weight: float


def clean_text(text: str) -> str:
    """Return text that SQLite accepts: no lone surrogates, and no NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def split_query(query: str) -> list[str]:
    """Split a query into words; of `list_apps` also its parts. Stop words only where there are no others."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(clean_text(query[:MAX_QUERY])):
        word = match.group().lower()
        for part in (word, *(word.split("_") if "_" in word else ())):
            if part.strip("_"):
                found[part] = None
    telling = [word for word in found if word not in _COMMON]
    return (telling or list(found))[:MAX_WORDS]


def weigh_terms(connection: "Connection", query: str, passages: int) -> list[QueryTerm]:
    """Return the terms of a query with their weights, which grow with rarity."""
    words = split_query(query)
    stems = stem_texts(connection, words)
    known = _count_passages(connection, {stem for found in stems.values() for stem in found})
    terms: list[QueryTerm] = []
    for number, word in enumerate(words):
        if found := stems.get(number):
            has = min(known.get(stem, 0) for stem in found)
            terms.append(QueryTerm(word, tuple(found), has, log(1 + (passages - has + 0.5) / (has + 0.5))))
    return terms


def to_fts_query(terms: Sequence[QueryTerm]) -> str:
    """Return the FTS5 query for passages that have any of the terms. A term of several parts has to match as a phrase.

    The rarest terms come first, and the rarest that any passage has is always among them.
    """
    chosen: list[str] = []
    matches = 0
    for term in sorted(terms, key=lambda term: term.passages):
        if matches and matches + term.passages > MAX_MATCHES:
            break
        chosen.append(f'"{term.word}"')
        matches += term.passages
    return " OR ".join(chosen)


def score_overlap(connection: "Connection", terms: Sequence[QueryTerm], texts: Sequence[str]) -> list[float]:
    """Return for each text how much of the query it contains, from 0 to 1, by the weights of the terms."""
    whole = sum(term.weight for term in terms)
    if not whole:
        return [0.0] * len(texts)
    stems = {stem for term in terms for stem in term.stems}
    found = stem_texts(connection, texts, stems)
    has = [found.get(number, {}) for number in range(len(texts))]
    return [sum(term.weight for term in terms if all(stem in there for stem in term.stems)) / whole for there in has]


def stem_texts(connection: "Connection", texts: Sequence[str], wanted: Iterable[str] | None = None) -> dict[int, dict[str, None]]:
    """Tokenize texts: for each index its stems in order, or those of them that are wanted."""
    connection.execute("INSERT INTO temp.heard (heard) VALUES ('delete-all')")
    connection.executemany("INSERT INTO temp.heard (rowid, text) VALUES (?, ?)", enumerate(texts))
    query, names = "SELECT doc, term FROM temp.heard_words", list(wanted or ())
    if names:
        query += f" WHERE term IN ({','.join('?' * len(names))})"
    rows = connection.execute(f"{query} ORDER BY doc, offset", names)
    stems: dict[int, dict[str, None]] = {}
    for number, stem in rows:
        stems.setdefault(number, {})[stem] = None
    return stems


def _count_passages(connection: "Connection", stems: Iterable[str]) -> Mapping[str, int]:
    """Return in how many passages each stem occurs."""
    names = list(stems)
    marks = ",".join("?" * len(names))
    return dict(connection.execute(f"SELECT term, doc FROM vocabulary WHERE term IN ({marks})", names))  # noqa: S608 - marks alone


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
