"""Packs sentences into spans of the largest allowed size. Blocks stay whole where that costs little room."""

import re
from collections.abc import Iterator, Sequence

from treadle.retrieval.split.pieces import Span
from treadle.retrieval.split.sentences import spans_between, split_sentences

_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"\s+")


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
