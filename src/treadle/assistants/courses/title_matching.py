"""Match course names as users write them with titles: loosely, but with a floor, so that a wrong name is recognised. Pure."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from msgspec import Struct

FLOOR = 0.6  # how much of a name has to fit
NEARLY_WHOLE = 0.85  # how much of a title has to be said, to mean it and no other
NEAR = 0.25  # how much, to be offered instead
ALIKE = 0.8  # from where on two words are one, written differently
MOST_NEAR = 3
LONGEST = 2_000  # characters of a text that is looked through for a name

_WORD = re.compile(r"\w+")
_COMMON_TEXT = """
a about an and at by class course courses for from how in into is it lesson lessons my of on one or our series that the this to
tutorial what with without your
"""
_COMMON = frozenset(_COMMON_TEXT.split())


class TitleMatch(Struct, frozen=True):
    """The matching titles by index; if there are none, similar ones."""

    meant: tuple[int, ...] = ()
    near: tuple[int, ...] = ()


def match_titles(name: str, titles: Sequence[str]) -> TitleMatch:
    """Return the titles that a name matches: one, or several equally good ones; else the most similar."""
    same = tuple([place for place, title in enumerate(titles) if title.casefold().strip() == name.casefold().strip()])
    if same:
        return TitleMatch(same)
    scores = [_score(name, title) for title in titles]
    best, whole = max(scores, default=(0.0, 0.0))
    if best >= FLOOR:
        least = whole if whole >= NEARLY_WHOLE else 0.0  # a title that is named wholly is meant, not others that hold it too
        return TitleMatch(tuple([place for place, score in enumerate(scores) if score[0] == best and score[1] >= least]))
    ranked = sorted(range(len(titles)), key=lambda place: scores[place], reverse=True)
    return TitleMatch(near=tuple([place for place in ranked if scores[place][0] >= NEAR][:MOST_NEAR]))


def find_mentioned_title(text: str, titles: Sequence[str]) -> int | None:
    """Return the index of the title mentioned in a text: the one with most of its words there; None if there is none."""
    said = text[:LONGEST].casefold()
    found = [(len(title), place) for place, title in enumerate(titles) if title and title.casefold() in said]
    if found:
        return max(found)[1]
    told = significant_words(said)
    scores = [_word_overlap(significant_words(title), told) for title in titles]
    best = max(scores, default=0.0)
    return scores.index(best) if best >= FLOOR and scores.count(best) == 1 else None


_CALLED = re.compile(r"((?:\b[\w'-]{1,40} ){1,5})(?:course|class|series)\b", re.IGNORECASE)


def find_course_phrases(text: str) -> list[str]:
    """Return candidate course names of a text, as in "the bread course": the words before that word, fewer and fewer."""
    phrases = [found[1].split() for found in _CALLED.finditer(text[:LONGEST])]
    return [" ".join(words[start:]) for words in phrases for start in range(len(words))]


def replace_brackets(name: str) -> str:
    """Replace brackets in a name, so that its end is clear when it is put in brackets."""
    return name.replace("[", "(").replace("]", ")")


@lru_cache(65536)
def significant_words(text: str) -> tuple[str, ...]:
    """Return the words that distinguish one title from another."""
    every = tuple(_WORD.findall(text.casefold()))
    return tuple([word for word in every if word not in _COMMON]) or every


def _score(name: str, title: str) -> tuple[float, float]:
    """Return how much of the name is in the title; among equals, how much of the title is in the name."""
    asked, told = significant_words(name), significant_words(title)
    share = _word_overlap(asked, told)
    if share < FLOOR and _text_similarity("".join(asked), "".join(told)) >= ALIKE:  # written together, or hardly spelt
        share = ALIKE
    return round(share, 3), round(_word_overlap(told, asked), 3)


def _word_overlap(words: Sequence[str], others: Sequence[str]) -> float:
    """Return how many of these words are among the others, each by its best match. Long words weigh more than short ones."""
    weights = [min(max(len(word), 4), 8) for word in words]
    fits = [
        max((_word_similarity(word, other) for other in others), default=0.0) * weight
        for word, weight in zip(words, weights, strict=True)
    ]
    return sum(fits) / sum(weights) if words else 0.0


@lru_cache(65536)
def _word_similarity(one: str, other: str) -> float:
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) >= 3 and long.startswith(short):
        return 0.9
    if len(short) < 4 or len(long) - len(short) > 3:
        return 0.0
    return _text_similarity(one, other)


def _text_similarity(one: str, other: str) -> float:
    """Return the similarity of two spellings, from `ALIKE` to 1; else 0."""
    if abs(len(one) - len(other)) > 6 or not one or not other:
        return 0.0
    compared = SequenceMatcher(None, one, other, autojunk=False)
    if compared.real_quick_ratio() < ALIKE or compared.quick_ratio() < ALIKE:
        return 0.0
    ratio = compared.ratio()
    return ratio if ratio >= ALIKE else 0.0
