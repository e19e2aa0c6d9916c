"""One search: candidates by full text and by vectors, ranked together, scored, and cut at the floor."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.retrieval.query import QueryTerm, TagFilter, score_overlap, to_fts_query, weigh_terms
from treadle.retrieval.rows import count_rows, format_for_embedding, format_heading, load_embedder_info, load_passages
from treadle.retrieval.values import PassageHit
from treadle.retrieval.vector_index import VectorIndex

if TYPE_CHECKING:
    from sqlite3 import Connection


RELATED = 0.3  # the score of a passage that has just about something to do with the question
OVERLAP_FLOOR = 0.5  # the share of a question's words that comes to that score
_STEADY = 60  # how little the first places of a list count more than the next


def fuse_rankings(*lists: Sequence[int]) -> list[int]:
    """Fuse rankings: passages that rank high in several come first (reciprocal rank fusion)."""
    points: dict[int, float] = {}
    for ranked in lists:
        for rank, passage in enumerate(ranked, 1):
            points[passage] = points.get(passage, 0.0) + 1 / (_STEADY + rank)
    return sorted(points, key=lambda passage: -points[passage])


def combine_scores(meaning: float | None, meaning_floor: float, words: float) -> float:
    """Return a score from 0 to 1: the better of the two, each on a scale on which its own floor is `RELATED`."""
    by_meaning = 0.0 if meaning is None else _scale(meaning, meaning_floor)
    return round(max(by_meaning, _scale(words, OVERLAP_FLOOR)), 4)


def _scale(value: float, floor: float) -> float:
    value = min(max(value, 0.0), 1.0)
    if value <= floor:
        return RELATED * value / floor if floor else RELATED
    return RELATED + (1 - RELATED) * (value - floor) / (1 - floor)


SearchMode = Literal["both", "words", "meaning"]

DEPTH = 30  # passages looked at in each list, or four times as many as are wanted
MAX_BATCH = 200  # of them whose texts are looked at together


class PassageQuery(Struct, frozen=True):
    """A query. `vector` is None for full text only; `embedder` names the embedder that made it."""

    query: str
    limit: int
    floor: float
    how: SearchMode
    allowed: TagFilter
    vector: bytes | None = None
    embedder: str = ""
    meaning_floor: float = 0.0


def search_passages(connection: "Connection", question: PassageQuery, vectors: VectorIndex) -> list[PassageHit]:
    """Return the best passages, at most `limit` and none below the floor."""
    passages = count_rows(connection, "passages")
    depth = max(DEPTH, 4 * question.limit)
    terms = weigh_terms(connection, question.query, passages) if question.how != "meaning" else []
    by_words = _search_words(connection, terms, depth, question.allowed)
    by_meaning: list[tuple[int, float]] = []
    cosine: dict[int, float] = {}
    if (vector := _comparable_vector(connection, question)) is not None:
        seen = vectors.seen_by(connection)
        by_meaning = seen.nearest(vector, depth, question.allowed)
        cosine = seen.cosines(vector, by_words) | dict(by_meaning)
    ranked = fuse_rankings([passage for passage, _ in by_meaning], by_words)
    return _score_candidates(connection, question, ranked, cosine, terms, _rank_positions(by_meaning, by_words))


Ranks = tuple[dict[int, int], dict[int, int]]


def _rank_positions(by_meaning: list[tuple[int, float]], by_words: list[int]) -> Ranks:
    meaning = {passage: rank for rank, (passage, _) in enumerate(by_meaning, 1)}
    return meaning, {passage: rank for rank, passage in enumerate(by_words, 1)}


def _comparable_vector(connection: "Connection", question: PassageQuery) -> bytes | None:
    """Return the query's vector, if the file's vectors are of the same embedder."""
    vector, kind = question.vector, load_embedder_info(connection)
    if vector is None or kind == (question.embedder, len(vector) // 4):
        return vector
    if question.how == "meaning" and kind[0]:
        raise SettingsError(f"The vectors are those of {kind[0]}, not of {question.embedder}; index again to make them anew.")
    return None


def _search_words(connection: "Connection", terms: list[QueryTerm], most: int, allowed: TagFilter) -> list[int]:
    """Return the passages that have the terms, by BM25; headings count twice."""
    if not terms:
        return []
    # The plus keeps full text from being searched anew for every passage that is allowed.
    condition = allowed.condition("+rowid")
    # Not `ORDER BY rank`, which would sort all that match instead of keeping the best.
    query = f"SELECT rowid FROM words WHERE words MATCH ?{condition} ORDER BY bm25(words, 2.0, 1.0), rowid LIMIT ?"  # noqa: S608 - our own names
    return [passage for (passage,) in connection.execute(query, [to_fts_query(terms), *allowed.filling, most])]


def _score_candidates(
    connection: "Connection",
    question: PassageQuery,
    ranked: list[int],
    cosine: dict[int, float],
    terms: list[QueryTerm],
    ranks: Ranks,
) -> list[PassageHit]:
    """Return the first candidates that reach the floor. Scored in small batches: mostly the first batch is enough."""
    found: list[PassageHit] = []
    some = min(question.limit + 4, MAX_BATCH)
    for start in range(0, len(ranked), some):
        passages = load_passages(connection, ranked[start : start + some])
        texts = {
            one: format_for_embedding(format_heading(passage, passage.title), passage.text) for one, passage in passages.items()
        }
        for one, share in zip(texts, score_overlap(connection, terms, list(texts.values())), strict=True):
            points = combine_scores(cosine.get(one), question.meaning_floor, share)
            if points >= question.floor:
                found.append(
                    PassageHit(passages[one], points, cosine.get(one), round(share, 4), ranks[0].get(one), ranks[1].get(one))
                )
        if len(found) >= question.limit:
            break
    return found[: question.limit]
