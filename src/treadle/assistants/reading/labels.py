"""Labels and identifiers: meaningful labels, names split into words, ids made from labels. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

SHORTEST, LONGEST = 2, 5  # words of a label
_LONG_NAME = 32  # characters
_GENERIC = re.compile(
    "misc|miscellaneous|helpers?|utils?|utility|utilities|others?|common|general|generic|various|stuff|things|remaining|rest|"
    "additional|extra|support|supporting"
)
_FILLER = re.compile("and|the|of|for|an?|in|functions?|code|methods?|class|classes|logic|module|parts?|main|core")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_EMPTY = re.compile("get|set|self|init|new|test|main|run|the|of|and|to|is|has|do|an?|.")  # words that say nothing in a name


def is_generic_label(label: str) -> bool:
    """Return whether a label is too generic to say anything."""
    words = re.findall(r"\w+", label.lower())
    generic = [word for word in words if _GENERIC.fullmatch(word)]
    return not words or (bool(generic) and all(word in generic or _FILLER.fullmatch(word) for word in words))


def clean_label(label: str) -> str:
    """Return a label on one line, at most five words, without surrounding punctuation."""
    words = re.sub(r"\s+", " ", label).strip(" .:;-*`\"'#").split()
    kept = words[:LONGEST]
    while len(kept) > SHORTEST and _FILLER.fullmatch(kept[-1].lower()):
        kept.pop()
    return " ".join(kept)


def to_kebab_case(label: str) -> str:
    """Convert a label to an id."""
    return "-".join(re.findall(r"[^\W_]+", label.lower())) or "block"


def split_identifier(name: str) -> list[str]:
    """Split an identifier into words: `parseHTTPBody` and `parse_http_body` are parse, http, body."""
    return [piece.lower() for piece in _PIECES.findall(name)]


def find_shared_words(names: Sequence[str], everywhere: Sequence[str]) -> list[str]:
    """Return up to two words that at least half of these names share, those first that few names `everywhere` in the file have."""
    counts, all_counts = _count_words(names), _count_words(everywhere)
    ranked = sorted(counts, key=lambda word: -(counts[word] ** 2) / max(all_counts[word], counts[word]))
    everyones = {word for word, count in all_counts.items() if len(names) < len(everywhere) < 2 * count}
    return [word for word in ranked if counts[word] > 1 and counts[word] * 2 >= len(names) and word not in everyones][:2]


def shorten_name(name: str, everywhere: Sequence[str]) -> str:
    """Return a name as it is in a label: a long one without the words that most names `everywhere` have, its first three."""
    if len(name) <= _LONG_NAME:
        return "_".join(name.split())
    common = {word for word, count in _count_words(everywhere).items() if count * 2 > len(everywhere) > 1}
    words = split_identifier(name)
    return "-".join([word for word in words if word not in common][:3] or words[:3])


def _count_words(names: Iterable[str]) -> "Counter[str]":
    """Count how many names contain each word."""
    return Counter([word for name in names for word in dict.fromkeys(split_identifier(name)) if not _EMPTY.fullmatch(word)])
