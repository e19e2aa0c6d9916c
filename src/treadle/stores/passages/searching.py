"""One search in the file: candidates by words and by meaning, ranked together, scored, and cut at the floor."""

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.stores.passages.asked import Term, matching, shares, terms_of
from treadle.stores.passages.filters import Filter
from treadle.stores.passages.held import Vectors
from treadle.stores.passages.ranking import fused, score
from treadle.stores.passages.rows import about, count, embedded, passages_by, told
from treadle.stores.passages.values import Found

if TYPE_CHECKING:
    from sqlite3 import Connection

How = Literal["both", "words", "meaning"]

DEPTH = 30  # passages looked at in each list, or four times as many as are wanted
MOST_AT_ONCE = 200  # of them whose texts are looked at together


class Question(Struct, frozen=True):
    """What is searched for. `vector` is None where only words count; `embedder` says whose it is."""

    query: str
    limit: int
    floor: float
    how: How
    allowed: Filter
    vector: bytes | None = None
    embedder: str = ""
    meaning_floor: float = 0.0


def search(connection: "Connection", question: Question, vectors: Vectors) -> list[Found]:
    """The best passages, at most as many as are wanted and none below the floor."""
    passages = count(connection, "passages")
    depth = max(DEPTH, 4 * question.limit)
    terms = terms_of(connection, question.query, passages) if question.how != "meaning" else []
    by_words = _by_words(connection, terms, depth, question.allowed)
    by_meaning: list[tuple[int, float]] = []
    cosine: dict[int, float] = {}
    if (vector := _comparable(connection, question)) is not None:
        seen = vectors.seen_by(connection)
        by_meaning = seen.nearest(vector, depth, question.allowed)
        cosine = seen.cosines(vector, by_words) | dict(by_meaning)
    ranked = fused([passage for passage, _ in by_meaning], by_words)
    return _scored(connection, question, ranked, cosine, terms, _ranks(by_meaning, by_words))


Ranks = tuple[dict[int, int], dict[int, int]]


def _ranks(by_meaning: list[tuple[int, float]], by_words: list[int]) -> Ranks:
    meaning = {passage: rank for rank, (passage, _) in enumerate(by_meaning, 1)}
    return meaning, {passage: rank for rank, passage in enumerate(by_words, 1)}


def _comparable(connection: "Connection", question: Question) -> bytes | None:
    """The question's vector, if the file's are of the same kind."""
    vector, kind = question.vector, about(connection)
    if vector is None or kind == (question.embedder, len(vector) // 4):
        return vector
    if question.how == "meaning" and kind[0]:
        raise SettingsError(f"The vectors are those of {kind[0]}, not of {question.embedder}; index again to make them anew.")
    return None


def _by_words(connection: "Connection", terms: list[Term], most: int, allowed: Filter) -> list[int]:
    """The passages that have the words, by BM25; what stands in headings counts twice."""
    if not terms:
        return []
    # The plus keeps full text from being searched anew for every passage that is allowed.
    condition = allowed.condition("+rowid")
    # Not `ORDER BY rank`, which would sort all that match instead of keeping the best.
    query = f"SELECT rowid FROM words WHERE words MATCH ?{condition} ORDER BY bm25(words, 2.0, 1.0), rowid LIMIT ?"  # noqa: S608 - our own names
    return [passage for (passage,) in connection.execute(query, [matching(terms), *allowed.filling, most])]


def _scored(
    connection: "Connection", question: Question, ranked: list[int], cosine: dict[int, float], terms: list[Term], ranks: Ranks
) -> list[Found]:
    """The first that are good enough. A few are looked at at a time: mostly those are all that is wanted."""
    found: list[Found] = []
    some = min(question.limit + 4, MOST_AT_ONCE)
    for start in range(0, len(ranked), some):
        passages = passages_by(connection, ranked[start : start + some])
        texts = {one: embedded(told(passage, passage.title), passage.text) for one, passage in passages.items()}
        for one, share in zip(texts, shares(connection, terms, list(texts.values())), strict=True):
            points = score(cosine.get(one), question.meaning_floor, share)
            if points >= question.floor:
                found.append(Found(passages[one], points, cosine.get(one), round(share, 4), ranks[0].get(one), ranks[1].get(one)))
        if len(found) >= question.limit:
            break
    return found[: question.limit]
