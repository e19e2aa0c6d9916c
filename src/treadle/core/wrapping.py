"""Wraps prose at words for a terminal's width. Pure; code and tables in Markdown stay as they are."""

import re
from itertools import accumulate

_TOKENS = re.compile(r"\S+|[^\S\n]+|\n")
_FENCES = ("```", "~~~")
_VERBATIM = ("    ", "\t", "|")  # how lines of code and of tables begin


def display_width(text: str) -> int:
    """Return how many columns a line takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum([0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text])


def fit_columns(text: str, most: int) -> str:
    """Return as much of a line as fits into so many columns; `…` stands for the rest."""
    if text.isascii():
        return text if len(text) <= most else text[: most - 1] + "…"
    if display_width(text) <= most:
        return text
    kept = sum([width < most for width in accumulate(map(display_width, text))])
    return text[:kept] + "…"


def wrap_words(text: str, width: int | None, indent: str = "") -> str:
    """Return text in lines of at most `width` columns, broken between words; the lines after a break begin with `indent`.

    Without a width nothing is broken: the text doesn't go to a terminal.
    """
    return text if width is None else WordWrapper(width, indent).feed(text)


class WordWrapper:
    """Wraps text that arrives in chunks, and holds nothing back but blanks.

    A word that comes in pieces and turns out too long for its line is erased from it, and begins the next one.
    """

    def __init__(self, width: int, indent: str = "") -> None:
        self.width = width
        self._indent = indent
        self._is_code = False
        self.begin_line()

    def begin_line(self) -> None:
        """Note that the cursor is at the beginning of a line."""
        self._column = 0
        self._line = ""  # as it came, without breaks: its beginning says whether it is code
        self._word = ""  # what was shown of the last word
        self._blank = ""  # before the next word

    def feed(self, text: str) -> str:
        """Return what to show for this chunk."""
        return "".join(map(self._show, _TOKENS.findall(text)))

    def _show(self, piece: str) -> str:
        if piece == "\n":
            if self._line.lstrip().startswith(_FENCES):
                self._is_code = not self._is_code
            self.begin_line()
            return piece
        self._line += piece
        if piece.isspace():
            self._blank += piece
            self._word = ""
            return ""
        blank, before, self._blank = self._blank, self._word, ""
        self._word += piece
        self._column += display_width(blank + piece)
        if self._column <= self.width or self._column == display_width(self._word) or self._is_verbatim():
            return blank + piece
        self._column = display_width(self._indent + self._word)
        erased = f"\x1b[{display_width(before)}D\x1b[K" if before else ""
        return f"{erased}\n{self._indent}{self._word}"

    def _is_verbatim(self) -> bool:
        return self._is_code or self._line.startswith(_VERBATIM)
