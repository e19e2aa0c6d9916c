"""Searches tools by what they do, over names, descriptions and argument names, and other texts by their words.

Pure; rare words weigh more than common ones.
"""

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from treadle.core.requests import ToolSpec

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def rank_tools(query: str, specs: Sequence[ToolSpec], most: int) -> list[ToolSpec]:
    """Return the tools that match `query` best, best first; none without a word of it."""
    return [specs[index] for index in _rank(query, [_weigh_words(spec) for spec in specs])[:most]]


def rank_texts(query: str, texts: Sequence[str], most: int) -> list[int]:
    """Return the indexes of the texts that match `query` best, best first; none without a word of it."""
    return _rank(query, [dict.fromkeys(_stem_words(text), 1.0) for text in texts])[:most]


def _rank(query: str, texts: Sequence[dict[str, float]]) -> list[int]:
    spread = Counter(word for text in texts for word in text)
    wanted = set(_stem_words(query))
    scored = [(_score(wanted, text, spread, len(texts)), -index) for index, text in enumerate(texts)]
    return [-index for score, index in sorted(scored, reverse=True) if score > 0]


def _stem_words(text: str) -> list[str]:
    """Return lower-case words, without the commonest endings, so that `applications` finds `application`."""
    return [_stem(word.lower()) for word in _WORDS.findall(text)]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _weigh_words(spec: ToolSpec) -> dict[str, float]:
    """Return the words of a tool with their weights: its name weighs most, its arguments least."""
    weights: dict[str, float] = {}
    texts = ((" ".join(spec.parameters.get("properties", {})), 0.5), (spec.description, 1.0), (spec.name, 3.0))
    for text, weight in texts:
        for word in _stem_words(text):
            weights[word] = max(weights.get(word, 0), weight)
    return weights


def _score(wanted: set[str], text: dict[str, float], spread: Counter[str], count: int) -> float:
    return sum(text[word] * log(1 + count / spread[word]) for word in wanted if word in text)
