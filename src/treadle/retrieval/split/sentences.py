"""Sentence boundaries in any text: after a full stop that isn't an abbreviation's, at a blank line, before a list item.

Linear in the text. Sentences tile it: each includes the whitespace behind it, and there are no gaps.
"""

import re

from treadle.retrieval.split.pieces import Span

# Where a sentence may end: space behind a mark (or what closes after one), line ends, and marks that take no space.
_GAP = re.compile(r"""(?<=[.!?…"'”’»)\]}*_`])\s+|\n\s*|[\u3002\uff01\uff1f]""")  # the last are those of Chinese and Japanese
_ITEM = re.compile(r"[ \t]*([-*+•]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_CLOSERS = "\"'”’»)]}*_`"
_ABBREVIATED = """
mr mrs ms dr prof sr jr st vs etc eg ie e.g i.e cf al no nos vol fig figs eq sec ch pp ca approx dept est inc ltd co corp
jan feb mar apr jun jul aug sep sept oct nov dec z.b d.h u.a bzw usw
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())


def split_sentences(text: str, span: Span) -> list[Span]:
    """Return the sentences of a part of a text."""
    start, end = span
    borders = [match.end() for match in _GAP.finditer(text, start, end) if _is_sentence_end(text, match.start(), match.end())]
    return spans_between(start, [*borders, end])


def spans_between(start: int, borders: list[int]) -> list[Span]:
    """Return the spans between borders, without empty ones."""
    return [(begin, end) for begin, end in zip([start, *borders], borders, strict=False) if begin < end]


def _is_sentence_end(text: str, start: int, end: int) -> bool:
    """Return whether a sentence ends with this gap (or with this mark, in scripts that put no space behind it)."""
    gap = text[start:end]
    if not gap.isspace():
        return True
    if "\n" in gap and (gap.count("\n") > 1 or _ITEM.match(text, start + gap.rindex("\n") + 1)):
        return True
    before = text[max(0, start - 24) : start].rstrip(_CLOSERS)
    if before[-1:] not in (".", "!", "?", "…") or text[end : end + 1].islower():
        return False
    return before[-1] != "." or not _is_abbreviation(before[:-1])


def _is_abbreviation(before: str) -> bool:
    """Return whether the full stop behind these words belongs to the last of them: `e.g`, `Dr`, an initial."""
    word = before.split()[-1].lstrip("([\"'“\u2018") if before.split() else ""
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper())
