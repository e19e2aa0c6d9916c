"""Join lines to paragraphs, keeping where each came from. Marked lines stay separate."""

from treadle.assistants.courses.material.course_types import Material, normalize_material_text
from treadle.assistants.courses.material.line_parsing import parse_head_line, parse_line_mark

_ENDS = (".", "!", "?", "…", ":", '"', "”", ")")


class ParagraphBuilder:
    """Builds a text from lines."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._anchors: list[tuple[int, str]] = []
        self._last = ""  # the line before; nothing where a paragraph begins

    def add(self, line: str, at: str) -> None:
        """Add a line and its position. It is joined to the one before, unless a paragraph has ended."""
        line = " ".join(normalize_material_text(line).split())
        if not line:
            return
        alone = parse_head_line(line) is not None or (parse_line_mark(line, markdown=False) is not None and self._is_complete)
        if alone:
            self.end_paragraph()
        self._join(line)
        if not self._anchors or self._anchors[-1][1] != at:
            self._anchors.append((self._length, at))
        self._append(line)
        self._last = line
        if alone:
            self.end_paragraph()

    def end_paragraph(self) -> None:
        """Start a new paragraph with the next line."""
        if self._last:
            self._append("\n\n")
            self._last = ""

    def material(self, title: str = "") -> Material:
        """Return the text as material."""
        return Material("".join(self._pieces), anchors=tuple(self._anchors), title=title)

    @property
    def last(self) -> str:
        """The previous line, if it can be continued."""
        return self._last

    @property
    def divided(self) -> bool:
        """Whether the previous line ends within a hyphenated word."""
        return self._last[-2:-1].isalpha() and self._last.endswith(("-", "\u2010", "\u00ad"))

    @property
    def _is_complete(self) -> bool:
        return not self._last or self._last.endswith(_ENDS)

    def _join(self, line: str) -> None:
        """Join the words on both sides of a line end: with a space, or as one hyphenated word."""
        if self.divided and (
            self._last[-1] == "\u00ad" or line[0].islower() or (self._last[-3:-1].isupper() and line[:2].isupper())
        ):
            self._pieces[-1] = self._pieces[-1][:-1]
            self._length -= 1
        elif self._last and not self.divided:
            self._append(" ")

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
