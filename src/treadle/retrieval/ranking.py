"""Combines two rankings of passages, and computes the score that a passage has to reach. Pure."""

from collections.abc import Sequence

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
