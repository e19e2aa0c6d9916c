"""Plain text in pieces: paragraphs are kept whole where they fit, else sentences. Every reader of another format can use this."""

import re

from treadle.stores.passages.split.pack import pack, parts_of
from treadle.stores.passages.split.pieces import OVERLAP, SIZE, Lines, Piece, Span, Split, require_sizes
from treadle.stores.passages.split.sentences import tiles

_BLANK = re.compile(r"\n[^\S\n]*\n\s*")


def split_text(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> Split:
    """A text in pieces of at most `size` characters, each with up to `overlap` of whole sentences of the one before."""
    require_sizes(size, overlap)
    return Split("", tuple(follow(Lines(text), (0, len(text)), size, overlap)))


def follow(lines: Lines, span: Span, size: int, overlap: int, headings: tuple[str, ...] = ()) -> list[Piece]:
    """A part of a text in pieces that follow its paragraphs and sentences."""
    start, end = span
    paragraphs = tiles(start, [*(match.end() for match in _BLANK.finditer(lines.text, start, end)), end])
    blocks = [parts_of(lines.text, paragraph, size) for paragraph in paragraphs]
    return lines.pieces(pack(blocks, size, overlap), headings)
