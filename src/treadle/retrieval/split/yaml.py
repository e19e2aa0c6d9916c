"""Splits YAML: by documents and top-level keys, each with the comments above it; a long one is cut at line ends.

Reads indentation, not YAML: a file that doesn't parse is split all the same. A piece's headings are the keys it lies under.
"""

import re

from treadle.retrieval.split.pack import pack_spans, split_block
from treadle.retrieval.split.pieces import SIZE, Piece, Span, Split, TextLines, check_sizes

_KEY = re.compile(
    r"""(?P<indent>[ ]*)(?:-[ ]+)*(?P<key>"[^"\n]*"|'[^'\n]*'|[^\s#:{}\[\]&*!|>%@`"'-][^\n:#]*|-[^\s:#][^\n:#]*):(?:\s|\Z)"""
)
_TITLE = re.compile(r"""(?m)^(?:title|name):[ \t]*["']?(?P<title>[^\r\n"'#|>]+)""")


def split_yaml(text: str, *, size: int = SIZE) -> Split:
    """Split a YAML text into pieces of at most `size` characters: as many whole keys as fit, without overlap."""
    check_sizes(size, 0)
    lines = TextLines(text)
    spans = lines.spans()
    blocks = [split_block(text, block, size) for block in _split_blocks(text, spans)]
    paths = _find_paths(text, spans)
    pieces = [_with_headings(piece, paths) for piece in lines.pieces(pack_spans(blocks, size, 0))]
    title = _TITLE.search(text)
    return Split(title["title"].strip() if title else "", tuple(pieces))


def _split_blocks(text: str, lines: list[Span]) -> list[Span]:
    """Return the lines in blocks: each begins with the comments above a top-level key or item, or with a document marker."""
    blocks: list[Span] = []
    comments = False  # whether the last block is nothing but comments so far
    for start, end in lines:
        line = text[start:end]
        begins = not line[0].isspace() and not (comments and not line.startswith(("---", "...")))
        if begins or not blocks:
            blocks.append((start, end))
        else:
            blocks[-1] = (blocks[-1][0], end)
        comments = line.startswith(("#", "---")) or (comments and not line.strip())
    return blocks


def _find_paths(text: str, lines: list[Span]) -> list[tuple[str, ...]]:
    """Return for each line the keys it lies under, its own last."""
    above: list[tuple[int, str]] = []
    paths: list[tuple[str, ...]] = []
    for start, end in lines:
        found = _KEY.match(text, start, end)
        if found:
            depth = found.start("key") - start
            above = [*((other, name) for other, name in above if other < depth), (depth, found["key"].strip().strip("\"'"))]
        elif text.startswith("---", start):
            above = []
        paths.append(tuple(name for _, name in above))
    return paths


def _with_headings(piece: Piece, paths: list[tuple[str, ...]]) -> Piece:
    """Return the piece with its headings: the keys it lies under, or the top-level ones it contains."""
    inside = paths[piece.first_line - 1 : piece.last_line]
    tops = list(dict.fromkeys(path[0] for path in inside if path))
    first = next((path for path in inside if path), ())
    headings = first[:-1] or first if len(tops) < 2 else (", ".join(tops),)
    return Piece(piece.text, piece.start, piece.end, piece.first_line, piece.last_line, headings)
