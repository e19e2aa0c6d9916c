"""What somebody asks, as words that full text can be searched for. Any text can be asked; none is ever read as a query language."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from sqlite3 import Connection

LONGEST = 8_000  # characters of a question that are looked at
MOST_WORDS = 64  # of them, different ones; the first that come
MOST_MATCHES = 6_000  # passages that are ranked; in a large store the commonest words are left out until there are no more

_WORD = re.compile(r"\w+")

# Words that say how something is asked rather than what about. They count where there are no others.
_COMMON_TEXT = """
a about am an and any are as at be because been but by can could did do does doing for from had has have having he her here him
his how i if in into is it its itself just let me more most my no nor not of off on or our out over own please she should so some
such tell than that the their them then there these they this those through to too under until up us very was we were what when
where which while who whom why will with would you your yours show explain give
"""
_COMMON = frozenset(_COMMON_TEXT.split())


class Term(Struct, frozen=True):
    """A word that was asked for: as it was written, what the tokenizer makes of it, how many passages have it, what it counts."""

    word: str
    stems: tuple[str, ...]
    passages: int
    weight: float


def plain(text: str) -> str:
    """Text that SQLite takes: no lone surrogates, and no NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def words_of(query: str) -> list[str]:
    """The words of a question; of `list_apps` also its parts. Common ones only where there are no others."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(plain(query[:LONGEST])):
        word = match.group().lower()
        for part in (word, *(word.split("_") if "_" in word else ())):
            if part.strip("_"):
                found[part] = None
    telling = [word for word in found if word not in _COMMON]
    return (telling or list(found))[:MOST_WORDS]


def terms_of(connection: "Connection", query: str, passages: int) -> list[Term]:
    """The words of a question with what they count, which is more the fewer passages have them."""
    words = words_of(query)
    stems = heard(connection, words)
    known = _counts(connection, {stem for found in stems.values() for stem in found})
    terms: list[Term] = []
    for number, word in enumerate(words):
        if found := stems.get(number):
            has = min(known.get(stem, 0) for stem in found)
            terms.append(Term(word, tuple(found), has, log(1 + (passages - has + 0.5) / (has + 0.5))))
    return terms


def matching(terms: Sequence[Term]) -> str:
    """The question in FTS5's language: passages that have any of the words. A word of several parts has to stand as it is.

    The rarest words come first, and the rarest that any passage has is always among them.
    """
    chosen: list[str] = []
    matches = 0
    for term in sorted(terms, key=lambda term: term.passages):
        if matches and matches + term.passages > MOST_MATCHES:
            break
        chosen.append(f'"{term.word}"')
        matches += term.passages
    return " OR ".join(chosen)


def shares(connection: "Connection", terms: Sequence[Term], texts: Sequence[str]) -> list[float]:
    """For each text how much of the question stands in it, from 0 to 1, by what its words count."""
    whole = sum(term.weight for term in terms)
    if not whole:
        return [0.0] * len(texts)
    stems = {stem for term in terms for stem in term.stems}
    found = heard(connection, texts, stems)
    has = [found.get(number, {}) for number in range(len(texts))]
    return [sum(term.weight for term in terms if all(stem in there for stem in term.stems)) / whole for there in has]


def heard(connection: "Connection", texts: Sequence[str], wanted: Iterable[str] | None = None) -> dict[int, dict[str, None]]:
    """What the tokenizer makes of texts: for each number of one its stems in order, or those of them that are wanted."""
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


def _counts(connection: "Connection", stems: Iterable[str]) -> Mapping[str, int]:
    """In how many passages each of these stands."""
    names = list(stems)
    marks = ",".join("?" * len(names))
    return dict(connection.execute(f"SELECT term, doc FROM vocabulary WHERE term IN ({marks})", names))  # noqa: S608 - marks alone
