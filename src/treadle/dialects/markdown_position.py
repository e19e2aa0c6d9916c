"""Position in a reply's Markdown: at the start of a line, after a sentence, next to a word, in code. Independent of calls."""

from typing import Literal

LinePosition = Literal["start", "line", "sentence", "glued", "inside", "quoted", "code"]

_SENTENCE_ENDS = frozenset(".!?\u2026\u3002\uff01\uff1f")
_QUOTES = frozenset("\"'\u201c\u2018\u201e\u00ab")
_CODE_INDENT = 4  # from here on Markdown takes a line for code


class MarkdownLine:
    """The line so far. `add` is cheap: text is examined once, when the position is requested."""

    __slots__ = ("_first", "_indent", "_last", "_quotes", "_spaced", "add", "code", "unread")

    def __init__(self) -> None:
        self.unread: list[str] = []
        self.add = self.unread.append  # this was said
        self.renew()

    def renew(self) -> None:
        """Begin a new line."""
        self.unread.clear()
        self._indent = 0
        self._first = ""  # the first and the last character that aren't space, and whether space follows
        self._last = ""
        self._spaced = False
        self._quotes = 0
        self.code = 0  # how many backticks opened the code we are in

    def where(self) -> LinePosition:
        """Return the position of the next character."""
        if self.unread:
            self._read_pending("".join(self.unread))
        if self.code:
            return "code"
        if not self._first:
            return "line" if self._indent < _CODE_INDENT else "inside"
        if self._first == ">" or self._quotes % 2 or (self._last in _QUOTES and not self._spaced):
            return "quoted"
        if self._last in _SENTENCE_ENDS:
            return "sentence"
        return "glued" if self._last.isalnum() and not self._spaced else "inside"

    def toggle_code(self, ticks: int) -> None:
        """Handle backticks: as many as opened code close it, any others inside it are part of it."""
        if not self.code:
            self.code = ticks
        elif self.code == ticks:
            self.code = 0

    def _read_pending(self, words: str) -> None:
        self.unread.clear()
        newline = words.rfind("\n")
        if newline >= 0:
            self.renew()
            words = words[newline + 1 :]
        self._quotes += words.count('"')
        said = words.strip()
        if not self._first:
            indent = words[: len(words) - len(words.lstrip())]
            self._indent += len(indent) + (_CODE_INDENT - 1) * indent.count("\t")
            self._first = said[:1]
        self._last = said[-1:] or self._last
        self._spaced = words[-1:].isspace() or (self._spaced and not words)
