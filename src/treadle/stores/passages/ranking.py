"""Two lists of passages made into one, and the score by which a passage is good enough. Pure."""

from collections.abc import Sequence

RELATED = 0.3  # the score of a passage that has just about something to do with the question
WORDS_FLOOR = 0.5  # the share of a question's words that comes to that score
_STEADY = 60  # how little the first places of a list count more than the next


def fused(*lists: Sequence[int]) -> list[int]:
    """The passages of all lists, those first that stand high in several (reciprocal rank fusion)."""
    points: dict[int, float] = {}
    for ranked in lists:
        for rank, passage in enumerate(ranked, 1):
            points[passage] = points.get(passage, 0.0) + 1 / (_STEADY + rank)
    return sorted(points, key=lambda passage: -points[passage])


def score(meaning: float | None, meaning_floor: float, words: float) -> float:
    """From 0 to 1: the better of the two, each on a scale on which its own floor is `RELATED`."""
    by_meaning = 0.0 if meaning is None else _scaled(meaning, meaning_floor)
    return round(max(by_meaning, _scaled(words, WORDS_FLOOR)), 4)


def _scaled(value: float, floor: float) -> float:
    value = min(max(value, 0.0), 1.0)
    if value <= floor:
        return RELATED * value / floor if floor else RELATED
    return RELATED + (1 - RELATED) * (value - floor) / (1 - floor)
