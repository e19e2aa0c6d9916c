"""Output buffer of a reply parser: text, thinking, calls, and calls that may turn out to be text; and its Markdown position."""

from typing import Literal

from msgspec import Struct

from treadle.core.calls import Written
from treadle.core.seams import Heard
from treadle.dialects.forms import CallMatch

LinePosition = Literal["start", "line", "sentence", "glued", "inside", "quoted", "code"]

_SENTENCE_ENDS = frozenset(".!?\u2026\u3002\uff01\uff1f")
_QUOTES = frozenset("\"'\u201c\u2018\u201e\u00ab")
_CODE_INDENT = 4  # from here on Markdown takes a line for code
_NOTHING = Heard()


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


class _PendingPart(Struct, frozen=True):
    """A part that the end of the reply decides about: a call, or text after one (`found` is None)."""

    raw: str
    found: CallMatch | None = None
    maybe: bool = False
    every: bool = False


class ReplyOutput:
    """Collects what the parser recognises, in order, and returns it with `take`."""

    __slots__ = (
        "_blank",
        "_calls",
        "_held",
        "_pauses",
        "_pondered",
        "_recanted",
        "_said",
        "_space",
        "_swallow",
        "_text",
        "_thinking",
        "fresh",
        "line",
        "unsettled",
    )

    def __init__(self) -> None:
        self.line = MarkdownLine()
        self.fresh = True  # nothing but space since the beginning, the last call or the last thought
        self.unsettled = True  # no thought and no call yet: the words so far may have been thinking
        self._said = False
        self._recanted = False
        self._blank = True  # no words, no thinking, no calls
        self._swallow = False
        self._space: list[str] = []
        self._held: list[_PendingPart] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Written] = []
        self._pondered = False
        self._pauses: list[str] | None = None

    @property
    def said(self) -> bool:
        """Whether the reply has any text so far."""
        return self._said

    @property
    def waits(self) -> bool:
        """Whether text is held until the end of the reply, since a call before it counts if the reply ends in another call."""
        return bool(self._held) and self._held[-1].found is None

    def where(self) -> LinePosition:
        """Return the current position in the reply."""
        return self.line.where() if self._said else "start"

    def say(self, words: str) -> None:
        """Add text. After a call, space waits for what follows it; text there means that a doubtful call was an example."""
        if self.fresh:
            if not words or words.isspace():
                self._space.append(words)
                return
            if not (self._held and self._held[-1].every):
                self._resolve_pending(ended=False)
            words = words.lstrip() if self._swallow else "".join(self._space) + words
            self._reset_space()
        if self._held:
            self._held.append(_PendingPart(words))
            self._advance_line(words)
        else:
            self._emit_text(words)

    def keep(self, raw: str, found: CallMatch, *, maybe: bool, every: bool = False) -> None:
        """Add a call: certain, or valid only if it ends the reply.

        With `every`, also before text if the reply ends in another call.
        """
        if maybe or self._held:
            self._held.append(_PendingPart("".join(self._space) + raw, found, maybe, every))
        else:
            self._emit_match(found)
        self._reset_space()
        self.fresh = bool(found.calls) or not found.text  # where it was words after all, space after them is theirs
        self.unsettled = False
        self.line.renew()

    def begin_thought(self) -> None:
        """Begin a thinking section."""
        self._pauses = None
        self.unsettled = False

    def recant(self) -> None:
        """End thinking that began before the reply.

        The text so far was thinking, if no call or thinking section came in between.
        """
        if self._said and self.unsettled:
            self._recanted = self._pondered = True
            self._thinking += self._text
            self._text.clear()
            self._said = False
        self.end_thought()

    def think(self, words: str) -> None:
        """Add thinking. Space around it is dropped."""
        body = words.strip()
        if not body:
            if self._pauses is not None:
                self._pauses.append(words)
            return
        if self._pauses is None:
            self._pauses = ["\n"] if self._pondered else []
            words = words.lstrip()
        kept = words.rstrip()
        self._thinking += (*self._pauses, kept)
        self._pauses = [words[len(kept) :]]
        self._pondered = True

    def end_thought(self) -> None:
        """End a thinking section. Space after it is no part of the answer."""
        self._reset_space()
        self._swallow = True
        self.fresh = True
        self.unsettled = False
        self.line.renew()

    def call(self, calls: tuple[Written, ...]) -> None:
        """Add calls that count without any condition."""
        self._calls.extend(calls)

    def end(self) -> None:
        """Finish the reply: a call that ends it counts."""
        self._resolve_pending(ended=True)
        if self._blank:
            self._text += self._space

    def heard(self) -> Heard:
        """Return what is new since the last call."""
        if not (self._text or self._thinking or self._calls or self._recanted):
            return _NOTHING
        heard = Heard("".join(self._text), "".join(self._thinking), tuple(self._calls), self._recanted)
        self._recanted = False
        self._text.clear()
        self._thinking.clear()
        self._calls.clear()
        return heard

    def _resolve_pending(self, *, ended: bool) -> None:
        acts = ended and not self.waits
        for held in self._held:
            if held.found is None or (held.maybe and not acts):
                self._emit_text(held.raw)
            else:
                self._emit_match(held.found)
        self._held.clear()

    def _emit_match(self, found: CallMatch) -> None:
        self._calls.extend(found.calls)
        if found.thinking:
            self.begin_thought()
            self.think(found.thinking)
        if found.text:
            self._emit_text(found.text)

    def _emit_text(self, words: str) -> None:
        self._text.append(words)
        self._advance_line(words)

    def _advance_line(self, words: str) -> None:
        self.line.add(words)
        self._said = True
        self.fresh = False

    def _reset_space(self) -> None:
        self._blank = False
        self._space.clear()
        self._swallow = False
