"""Material cut into pieces, each of one lesson and under that lesson's headings, with its place in the file. Pure."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle.assistants.courses.material.layout import Part
from treadle.assistants.courses.material.marks import unadorned
from treadle.assistants.courses.material.values import Lesson, Material
from treadle.passages import Piece, split_markdown, split_text


class Cut(Struct, frozen=True):
    """A piece of the text. Lines count from 1; they are 0 where the file has none of its own."""

    lesson: Lesson | None
    text: str
    headings: tuple[str, ...]
    at: str = ""
    first_line: int = 0
    last_line: int = 0


def cuts_of(material: Material, parts: Sequence[Part], title: str, *, size: int, overlap: int) -> list[Cut]:
    """The pieces of all parts. One that only says a title which others are headed with is left out."""
    cuts = list(_cuts(material, parts, title, size, overlap))
    said = Counter(id(cut.lesson) for cut in cuts)
    return [cut for cut in cuts if len(cuts) == 1 or not _only_title(cut, title, alone=said[id(cut.lesson)] == 1)]


def _cuts(material: Material, parts: Sequence[Part], title: str, size: int, overlap: int) -> Iterator[Cut]:
    split = split_markdown if material.markdown else split_text
    offsets = [offset for offset, _ in material.anchors]
    line, upto = 0, 0
    for part in parts:
        line, upto = line + material.text.count("\n", upto, part.start), part.start
        for piece in split(material.text[part.start : part.end], size=size, overlap=overlap).pieces:
            first, last = (line + piece.first_line, line + piece.last_line) if material.lines else (0, 0)
            at = _anchor(material, offsets, part.start + piece.start)
            yield Cut(part.lesson, piece.text, _headings(piece, part.lesson, title), at, first, last)


def _anchor(material: Material, offsets: Sequence[int], position: int) -> str:
    place = bisect_right(offsets, position) - 1
    return material.anchors[place][1] if place >= 0 else ""


def _headings(piece: Piece, lesson: Lesson | None, title: str) -> tuple[str, ...]:
    """The lesson, then the headings inside of it; what they repeat is left out."""
    own = lesson.heading if lesson else ""
    said = {title, own, lesson.title if lesson else ""}
    inside = [heading for heading in piece.headings if heading not in said]
    return (own, *inside) if own else tuple(inside)


def _only_title(cut: Cut, title: str, *, alone: bool) -> bool:
    """Whether a piece says nothing but the title of the course; or its lesson's, if the lesson has others."""
    words = unadorned(cut.text.lstrip("#"))
    return words == title if cut.lesson is None or not cut.lesson.title else words in (title, cut.lesson.title) and not alone
