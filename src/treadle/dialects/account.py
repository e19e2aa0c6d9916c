"""What was heard of a reply, on its way to whoever listens: words, thinking, calls, and calls that may turn out to be words."""

from msgspec import Struct

from treadle.core.calls import Written
from treadle.core.seams import Heard
from treadle.dialects.forms import Found
from treadle.dialects.place import Line, Where

_NOTHING = Heard()


class _Held(Struct, frozen=True):
    """What the end of the reply decides about: a call, or words after one (`found` is None)."""

    raw: str
    found: Found | None = None
    maybe: bool = False
    every: bool = False


class Account:
    """Takes what the parser makes out, in order, and gives it away with `heard`."""

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
        self.line = Line()
        self.fresh = True  # nothing but space since the beginning, the last call or the last thought
        self.unsettled = True  # no thought and no call yet: the words so far may have been thinking
        self._said = False
        self._recanted = False
        self._blank = True  # no words, no thinking, no calls
        self._swallow = False
        self._space: list[str] = []
        self._held: list[_Held] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Written] = []
        self._pondered = False
        self._pauses: list[str] | None = None

    @property
    def said(self) -> bool:
        """Whether there were any words."""
        return self._said

    @property
    def waits(self) -> bool:
        """Whether words wait for the end of the reply, since a call before them counts if the reply ends in another one."""
        return bool(self._held) and self._held[-1].found is None

    def where(self) -> Where:
        """Where in the reply we are."""
        return self.line.where() if self._said else "start"

    def say(self, words: str) -> None:
        """These are words. After a call, space waits for what follows it; words there say that a doubtful call was a sample."""
        if self.fresh:
            if not words or words.isspace():
                self._space.append(words)
                return
            if not (self._held and self._held[-1].every):
                self._settle(ended=False)
            words = words.lstrip() if self._swallow else "".join(self._space) + words
            self._renew()
        if self._held:
            self._held.append(_Held(words))
            self._place(words)
        else:
            self._utter(words)

    def keep(self, raw: str, found: Found, *, maybe: bool, every: bool = False) -> None:
        """This is a call, for sure or if it ends the reply; with `every`, also before words, if the reply ends in another one."""
        if maybe or self._held:
            self._held.append(_Held("".join(self._space) + raw, found, maybe, every))
        else:
            self._give(found)
        self._renew()
        self.fresh = bool(found.calls) or not found.text  # where it was words after all, space after them is theirs
        self.unsettled = False
        self.line.renew()

    def begin_thought(self) -> None:
        """What follows is thinking."""
        self._pauses = None
        self.unsettled = False

    def recant(self) -> None:
        """A thought is over that began before the reply: what was said so far was thinking, if nothing came in between."""
        if self._said and self.unsettled:
            self._recanted = self._pondered = True
            self._thinking += self._text
            self._text.clear()
            self._said = False
        self.end_thought()

    def think(self, words: str) -> None:
        """This is thinking. Space around it is left out."""
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
        """Thinking is over. Space after it is no part of the answer."""
        self._renew()
        self._swallow = True
        self.fresh = True
        self.unsettled = False
        self.line.renew()

    def call(self, calls: tuple[Written, ...]) -> None:
        """These calls count."""
        self._calls.extend(calls)

    def end(self) -> None:
        """The reply is over: what ends it counts."""
        self._settle(ended=True)
        if self._blank:
            self._text += self._space

    def heard(self) -> Heard:
        """What is new since this was last asked."""
        if not (self._text or self._thinking or self._calls or self._recanted):
            return _NOTHING
        heard = Heard("".join(self._text), "".join(self._thinking), tuple(self._calls), self._recanted)
        self._recanted = False
        self._text.clear()
        self._thinking.clear()
        self._calls.clear()
        return heard

    def _settle(self, *, ended: bool) -> None:
        acts = ended and not self.waits
        for held in self._held:
            if held.found is None or (held.maybe and not acts):
                self._utter(held.raw)
            else:
                self._give(held.found)
        self._held.clear()

    def _give(self, found: Found) -> None:
        self._calls.extend(found.calls)
        if found.thinking:
            self.begin_thought()
            self.think(found.thinking)
        if found.text:
            self._utter(found.text)

    def _utter(self, words: str) -> None:
        self._text.append(words)
        self._place(words)

    def _place(self, words: str) -> None:
        self.line.add(words)
        self._said = True
        self.fresh = False

    def _renew(self) -> None:
        self._blank = False
        self._space.clear()
        self._swallow = False
