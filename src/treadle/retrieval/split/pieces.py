"""The pieces of a text, with their positions. How spans are packed is in `pack`; where to cut is up to each format."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from re import finditer

from msgspec import Struct

from treadle.core.errors import SettingsError

SIZE = 800  # characters of a piece, at most
OVERLAP = 100  # characters at most that a piece repeats of the one before

Span = tuple[int, int]


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
