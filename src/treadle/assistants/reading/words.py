"""Words: labels that say something, names split into words, ids made of labels. Pure."""

import re
from collections import Counter
from collections.abc import Iterable

SHORTEST, LONGEST = 2, 5  # words of a label
_GENERIC = re.compile(
    "misc|miscellaneous|helpers?|utils?|utility|utilities|others?|common|general|generic|various|stuff|things|remaining|rest|"
    "additional|extra|support|supporting"
)
_FILLER = re.compile("and|the|of|for|an?|in|functions?|code|methods?|class|classes|logic|module|parts?|main|core")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_EMPTY = re.compile("get|set|self|init|new|test|main|run|the|of|and|to|is|has|do|an?|.")  # words that say nothing in a name


def is_generic(label: str) -> bool:
    """Whether a label could stand on anything."""
    words = re.findall(r"\w+", label.lower())
    generic = [word for word in words if _GENERIC.fullmatch(word)]
    return not words or (bool(generic) and all(word in generic or _FILLER.fullmatch(word) for word in words))


def clean_label(label: str) -> str:
    """A label on one line, at most five words of it, without marks around it."""
    words = re.sub(r"\s+", " ", label).strip(" .:;-*`\"'#").split()
    kept = words[:LONGEST]
    while len(kept) > SHORTEST and _FILLER.fullmatch(kept[-1].lower()):
        kept.pop()
    return " ".join(kept)


def kebab(label: str) -> str:
    """A label as an id."""
    return "-".join(re.findall(r"[^\W_]+", label.lower())) or "block"


def split_name(name: str) -> list[str]:
    """A name's words: `parseHTTPBody` and `parse_http_body` are parse, http, body."""
    return [piece.lower() for piece in _PIECES.findall(name)]


def label_from(names: Iterable[str], kind: str, everywhere: Iterable[str] = ()) -> str:
    """A label for things with these names: the words that most of them share, and few others `everywhere` in the file have."""
    counts, all_counts = _words(names), _words(everywhere)
    ranked = sorted(counts, key=lambda word: -(counts[word] ** 2) / max(all_counts[word], counts[word]))
    shared = [word for word in ranked[:3] if counts[word] > 1] or ranked[: 2 if len(counts) > 1 else 1]
    return " ".join([*shared, kind]).capitalize() if shared else f"Its {kind}"


def _words(names: Iterable[str]) -> "Counter[str]":
    """How many names have each word."""
    return Counter([word for name in names for word in dict.fromkeys(split_name(name)) if not _EMPTY.fullmatch(word)])
