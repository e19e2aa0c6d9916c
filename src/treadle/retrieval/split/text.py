"""Splits plain text: paragraphs stay whole where they fit, else sentences. Readers of other formats can use it too."""

import re

from treadle.retrieval.split.pack import pack_spans, split_prose
from treadle.retrieval.split.pieces import OVERLAP, SIZE, Piece, Span, Split, TextLines, check_sizes
from treadle.retrieval.split.sentences import spans_between

_BLANK = re.compile(r"\n[^\S\n]*\n\s*")


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
