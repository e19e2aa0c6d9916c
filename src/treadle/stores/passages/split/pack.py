"""Sentences packed into spans that are as large as they may be. Blocks are kept whole where that costs little room."""

import re
from collections.abc import Iterator, Sequence

from treadle.stores.passages.split.pieces import Span
from treadle.stores.passages.split.sentences import sentences, tiles

_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"\s+")


def pack(blocks: Sequence[Sequence[Span]], size: int, overlap: int) -> Iterator[Span]:
    """Spans of at most `size` that hold all blocks, given as the parts they may be cut into (which tile the text).

    A span begins with as many whole parts of the one before as `overlap` allows, unless a block begins there.
    """
    parts: list[Span] = []  # of the span that is being filled
    for block in blocks:
        if parts and _length(parts, block[-1]) > size and 2 * _length(parts) >= size and _whole(block) <= size:
            yield parts[0][0], parts[-1][1]
            parts = []
        for part in block:
            if parts and _length(parts, part) > size:
                yield parts[0][0], parts[-1][1]
                parts = _repeated(parts, min(overlap, size - (part[1] - part[0])))
            parts.append(part)
    if parts:
        yield parts[0][0], parts[-1][1]


def parts_of(text: str, span: Span, size: int) -> list[Span]:
    """Where prose may be cut: into sentences, and those that are too long at line ends, between words, or anywhere."""
    return [part for sentence in sentences(text, span) for part in fitting(text, sentence, size)]


def solid(text: str, span: Span, size: int) -> list[Span]:
    """Where a block that should stay whole may be cut: nowhere if it fits, else at line ends."""
    if span[1] - span[0] <= size:
        return [span]
    lines = tiles(span[0], [*(match.end() for match in _LINE_END.finditer(text, *span)), span[1]])
    return [part for line in lines for part in fitting(text, line, size)]


def fitting(text: str, span: Span, size: int) -> list[Span]:
    """A span as parts that fit: the fewer cuts the better, at line ends rather than between words rather than inside of one."""
    start, end = span
    cuts: list[int] = []
    while end - start > size:
        start = _cut(text, start, start + size)
        cuts.append(start)
    return tiles(span[0], [*cuts, end])


def _cut(text: str, start: int, limit: int) -> int:
    """The best place to cut in the second half of what fits."""
    for border in (_LINE_END, _WORD_END):
        ends = [match.end() for match in border.finditer(text, (start + limit) // 2, limit)]
        if ends:
            return ends[-1]
    return limit


def _repeated(parts: list[Span], most: int) -> list[Span]:
    """The last parts, as many as aren't longer than `most` together."""
    first = len(parts)
    while first > 0 and parts[-1][1] - parts[first - 1][0] <= most:
        first -= 1
    return parts[first:]


def _length(parts: Sequence[Span], more: Span | None = None) -> int:
    return (more or parts[-1])[1] - parts[0][0]


def _whole(block: Sequence[Span]) -> int:
    return block[-1][1] - block[0][0]
