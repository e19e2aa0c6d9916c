"""Splits text into passages of a largest size: paragraphs stay whole where they fit, else sentences."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from re import finditer

from msgspec import Struct

from treadle.core.errors import SettingsError

SIZE = 800  # characters of a piece, at most
OVERLAP = 100  # characters at most that a piece repeats of the one before

Span = tuple[int, int]
# Where a sentence may end: space behind a mark (or what closes after one), line ends, and marks that take no space.
_GAP = re.compile(r"""(?<=[.!?…"'”’»)\]}*_`])\s+|\n\s*|[\u3002\uff01\uff1f]""")  # the last are those of Chinese and Japanese
_ITEM = re.compile(r"[ \t]*([-*+•]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_CLOSERS = "\"'”’»)]}*_`"
_ABBREVIATED = """
mr mrs ms dr prof sr jr st vs etc eg ie e.g i.e cf al no nos vol fig figs eq sec ch pp ca approx dept est inc ltd co corp
jan feb mar apr jun jul aug sep sept oct nov dec z.b d.h u.a bzw usw
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"\s+")
_BLANK = re.compile(r"\n[^\S\n]*\n\s*")


class Piece(Struct, frozen=True):
    """A slice of a text, without surrounding whitespace. Lines count from 1, both inclusive."""

    text: str
    start: int
    end: int
    first_line: int
    last_line: int
    headings: tuple[str, ...] = ()


class Split(Struct, frozen=True):
    """A text in pieces, and its title."""

    title: str
    pieces: tuple[Piece, ...]


class TextLines:
    """The lines of a text, which end with a newline and nothing else: as editors count them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._ends = [match.end() for match in finditer("\n", text)]

    def number(self, position: int) -> int:
        """Return the line number of a character."""
        return bisect_right(self._ends, position) + 1

    def spans(self, start: int = 0) -> list[Span]:
        """Return the span of every line from `start` on, including its newline."""
        borders = [start, *(end for end in self._ends if end > start), len(self.text)]
        return [(begin, end) for begin, end in pairwise(borders) if begin < end]

    def piece(self, span: Span, headings: tuple[str, ...] = ()) -> Piece | None:
        """Return the slice as a piece; None for whitespace only. The indentation of the first line is kept."""
        start, end = span
        inner = self.text[start:end]
        said = inner.strip()
        if not said:
            return None
        first = start + inner.index(said[0])
        last = start + len(inner.rstrip())
        start = max(start, self.text.rfind("\n", start, first) + 1)
        return Piece(self.text[start:last], start, last, self.number(first), self.number(last - 1), headings)

    def pieces(self, spans: Iterable[Span], headings: tuple[str, ...] = ()) -> list[Piece]:
        """Return the slices that contain more than whitespace, and more than the next one does."""
        found: list[Piece] = []
        for piece in (self.piece(span, headings) for span in spans):
            if piece is not None and found and piece.start <= found[-1].start:
                found[-1] = piece
            elif piece is not None:
                found.append(piece)
        return found


def check_sizes(size: int, overlap: int) -> None:
    """Validate the sizes: at least 50 characters, and an overlap of at most half of that."""
    if size < 50 or overlap < 0 or overlap * 2 > size:
        raise SettingsError(
            f"Passages of {size} characters with {overlap} in common can't be: at least 50, and at most half of it."
        )


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


def pack_spans(blocks: Sequence[Sequence[Span]], size: int, overlap: int) -> Iterator[Span]:
    """Yield spans of at most `size` that cover all blocks, given as the parts they may be cut into (which tile the text).

    A span begins with as many whole parts of the previous one as `overlap` allows, unless a block begins there.
    """
    parts: list[Span] = []  # of the span that is being filled
    for block in blocks:
        if parts and _span_length(parts, block[-1]) > size and 2 * _span_length(parts) >= size and _block_length(block) <= size:
            yield parts[0][0], parts[-1][1]
            parts = []
        for part in block:
            if parts and _span_length(parts, part) > size:
                yield parts[0][0], parts[-1][1]
                parts = _overlapping_parts(parts, min(overlap, size - (part[1] - part[0])))
            parts.append(part)
    if parts:
        yield parts[0][0], parts[-1][1]


def split_prose(text: str, span: Span, size: int) -> list[Span]:
    """Split prose into sentences, and too long ones at line ends, between words, or anywhere."""
    return [part for sentence in split_sentences(text, span) for part in split_to_fit(text, sentence, size)]


def split_block(text: str, span: Span, size: int) -> list[Span]:
    """Split a block that should stay whole: nowhere if it fits, else at line ends."""
    if span[1] - span[0] <= size:
        return [span]
    lines = spans_between(span[0], [*(match.end() for match in _LINE_END.finditer(text, *span)), span[1]])
    return [part for line in lines for part in split_to_fit(text, line, size)]


def split_to_fit(text: str, span: Span, size: int) -> list[Span]:
    """Split a span into parts that fit, with as few cuts as possible: at line ends, else between words, else inside one."""
    start, end = span
    cuts: list[int] = []
    while end - start > size:
        start = _find_cut(text, start, start + size)
        cuts.append(start)
    return spans_between(span[0], [*cuts, end])


def _find_cut(text: str, start: int, limit: int) -> int:
    """Return the best position to cut in the second half of what fits."""
    for border in (_LINE_END, _WORD_END):
        ends = [match.end() for match in border.finditer(text, (start + limit) // 2, limit)]
        if ends:
            return ends[-1]
    return limit


def _overlapping_parts(parts: list[Span], most: int) -> list[Span]:
    """Return the last parts that together aren't longer than `most`."""
    first = len(parts)
    while first > 0 and parts[-1][1] - parts[first - 1][0] <= most:
        first -= 1
    return parts[first:]


def _span_length(parts: Sequence[Span], more: Span | None = None) -> int:
    return (more or parts[-1])[1] - parts[0][0]


def _block_length(block: Sequence[Span]) -> int:
    return block[-1][1] - block[0][0]


def split_text(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> Split:
    """Split a text into pieces of at most `size` characters, each with up to `overlap` of whole sentences of the previous one."""
    check_sizes(size, overlap)
    return Split("", tuple(split_span(TextLines(text), (0, len(text)), size, overlap)))


def split_span(lines: TextLines, span: Span, size: int, overlap: int, headings: tuple[str, ...] = ()) -> list[Piece]:
    """Split a part of a text along its paragraphs and sentences."""
    start, end = span
    paragraphs = spans_between(start, [*(match.end() for match in _BLANK.finditer(lines.text, start, end)), end])
    blocks = [split_prose(lines.text, paragraph, size) for paragraph in paragraphs]
    return lines.pieces(pack_spans(blocks, size, overlap), headings)
