"""Lines one after another made into paragraphs, keeping where each came from. Lines with marks stay lines of their own."""

from treadle.assistants.courses.material.marks import plain_mark, said
from treadle.assistants.courses.material.tidy import plain
from treadle.assistants.courses.material.values import Material

_ENDS = (".", "!", "?", "…", ":", '"', "”", ")")


class Flow:
    """A text that is being put together."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._anchors: list[tuple[int, str]] = []
        self._last = ""  # the line before; nothing where a paragraph begins

    def add(self, line: str, at: str) -> None:
        """One more line, and where it stands. Joined to the one before, unless a paragraph has ended."""
        line = " ".join(plain(line).split())
        if not line:
            return
        alone = said(line) is not None or (plain_mark(line, markdown=False) is not None and self._ended)
        if alone:
            self.end_paragraph()
        self._join(line)
        if not self._anchors or self._anchors[-1][1] != at:
            self._anchors.append((self._length, at))
        self._put(line)
        self._last = line
        if alone:
            self.end_paragraph()

    def end_paragraph(self) -> None:
        """What comes next begins a paragraph."""
        if self._last:
            self._put("\n\n")
            self._last = ""

    def material(self, title: str = "") -> Material:
        """What has come together."""
        return Material("".join(self._pieces), anchors=tuple(self._anchors), title=title)

    @property
    def last(self) -> str:
        """The line before, as far as it can be gone on with."""
        return self._last

    @property
    def divided(self) -> bool:
        """Whether the line before ends within a word."""
        return self._last[-2:-1].isalpha() and self._last.endswith(("-", "\u2010", "\u00ad"))

    @property
    def _ended(self) -> bool:
        return not self._last or self._last.endswith(_ENDS)

    def _join(self, line: str) -> None:
        """The words on both sides of a line's end: a space between them, or one word that was divided."""
        if self.divided and (
            self._last[-1] == "\u00ad" or line[0].islower() or (self._last[-3:-1].isupper() and line[:2].isupper())
        ):
            self._pieces[-1] = self._pieces[-1][:-1]
            self._length -= 1
        elif self._last and not self.divided:
            self._put(" ")

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
