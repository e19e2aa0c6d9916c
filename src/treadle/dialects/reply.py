"""One reply, read as it arrives: words, thinking and calls told apart, for all forms at once.

What decides whether something counts as a call is here: where it stands, and what follows it. How a form is read is the form's
own business. Text is passed on as soon as it can't be part of a call any more; a call that only counts where it ends the
reply waits until it does.
"""

import re
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from treadle.core.seams import Heard
from treadle.dialects.account import Account
from treadle.dialects.forms import Block, Form, Found, Offer, Place, Thought, in_fence, may_follow
from treadle.dialects.place import Where
from treadle.dialects.scan import HeldTooLong, Markers, Reading, Tape, look, peek, run, space, took, until

Ear = Literal["open", "careful", "strict"]
Standing = Literal["sure", "maybe"]

UNTYPED = ("<|", "<\uff5c", "[")  # nobody types tokens that begin like this
THOUGHTS = (Thought("<think>", "</think>"), Thought("<thinking>", "</thinking>"))

_TICKS = {"`": re.compile("`+"), "~": re.compile("~+")}
_FENCE = 3  # so many ticks at the start of a line begin a block of code
_TRIES = 8  # how often the end of a fence may turn out to be inside a call
_DEAF = Markers(())
_INFO_ENDS = Markers("\n`")
_BEGINNING = 80  # so many characters of a block show whether it may be calls
_BLANK = re.compile(r"[ \t\r]+")

_START: dict[Where, Standing] = {"start": "sure"}
_SURE: dict[Where, Standing] = {**_START, "line": "sure"}
_ANYWHERE: dict[Where, Standing] = {**_SURE, "sentence": "sure", "glued": "sure", "inside": "sure"}
_ENDING: dict[Where, Standing] = {"start": "maybe", "line": "maybe"}
_STANDINGS: dict[Ear, dict[Place, dict[Where, Standing]]] = {
    "open": {
        "start": _START,
        "line": {**_ANYWHERE, "quoted": "sure"},
        "whole": _ENDING,
        "anywhere": {**_ANYWHERE, "quoted": "sure"},
    },
    "careful": {"start": _START, "line": {**_ANYWHERE, "inside": "maybe"}, "whole": _ENDING, "anywhere": _ANYWHERE},
    "strict": {"start": _START, "line": _SURE, "whole": {"start": "maybe"}, "anywhere": _ANYWHERE},
}
_THOUGHT_STANDINGS: dict[Ear, dict[Place, dict[Where, Standing]]] = {
    "open": {"start": _START, "line": _SURE, "anywhere": _ANYWHERE},
    "careful": {"start": _START, "line": _SURE, "anywhere": _ANYWHERE},
    "strict": {"start": _START, "line": _START, "anywhere": _START},
}


class Rules(Struct, frozen=True):
    """What to look for, worked out once for each set of forms: `first` until something was said, `later` after that."""

    ear: Ear
    first: Markers
    later: Markers
    forms: dict[str, tuple[Form, ...]]
    blocks: dict[str, tuple[Block, ...]]
    thoughts: dict[str, Thought]
    closers: frozenset[str]
    ends: Markers  # of a thought that the prompt opened
    noise: frozenset[str]


@lru_cache(maxsize=64)
def rules(
    forms: tuple[Form | Block, ...], thoughts: tuple[Thought, ...] = (), noise: tuple[str, ...] = (), ear: Ear = "careful"
) -> Rules:
    """The rules for reading these forms."""
    framed = [form for form in forms if isinstance(form, Form)]
    by_mark = {mark: tuple(form for form in framed if mark in form.marks) for form in framed for mark in form.marks}
    blocks = [form if isinstance(form, Block) else in_fence(form) for form in forms]
    by_fence = {name: tuple(block for block in blocks if name in block.fences) for block in blocks for name in block.fences}
    thoughts = (*THOUGHTS, *thoughts)
    by_opener = {thought.open: thought for thought in thoughts if thought.open}
    closers = frozenset(thought.close for thought in thoughts)
    ends = Markers({*closers, *(end for thought in thoughts for end in thought.ends)})
    closers -= {*noise}  # these close other things as well, so that alone they say nothing
    always = {*closers, *noise, *_TICKS}
    openers = {thought.open for thought in by_opener.values() if thought.place != "start"}
    passing = {"start", "whole"} if ear == "strict" else {"start"}  # what doesn't count any more once something was said
    lasting = {mark for mark, of in by_mark.items() if any(form.place not in passing for form in of)}
    first, later = Markers({*always, *by_opener, *by_mark}), Markers({*always, *openers, *lasting})
    return Rules(ear, first, later, by_mark, by_fence, by_opener, closers, ends, frozenset(noise))


class ReplyParser:
    """Reads one reply; see `core.seams.Parser`."""

    __slots__ = (
        "_account",
        "_inner",
        "_line_add",
        "_marked",
        "_marks",
        "_offer",
        "_open",
        "_plain",
        "_reading",
        "_rules",
        "_tape",
        "_thought",
    )

    def __init__(self, of: Rules, offer: Offer, reasoning_open: bool | None = None, *, inner: bool = False) -> None:
        self._rules = of
        self._open = reasoning_open
        self._inner = inner  # whether it reads a thought for the parser of the reply
        self._offer = offer
        self._tape = Tape()
        self._account = Account()
        self._line_add = self._account.line.add
        self._thought: list[str] = []
        self._plain = False  # whether words can go straight through
        self._listen(of.first)
        self._reading = self._reply()
        next(self._reading)

    def feed(self, text: str) -> Heard:
        """What is certain after this piece."""
        if self._plain and self._marked(text) is None:
            self._line_add(text)
            return Heard(text)
        self._tape.more(text)
        next(self._reading)
        return self._account.heard()

    def close(self) -> Heard:
        """What is left when the reply is over."""
        self._tape.ended = True
        next(self._reading, None)
        return self._account.heard()

    @property
    def touched(self) -> int:
        """How many characters were laid out for reading: linear in the reply."""
        return self._tape.touched

    def _reply(self) -> Reading[None]:
        if self._open:
            yield from self._opened()
        while mark := (yield from self._words()):
            if mark in _TICKS:
                yield from self._hold(self._ticks(mark))
            elif not self._heeds(mark):
                self._account.say(self._tape.take(1))  # another mark may begin inside of it
            elif mark in self._rules.forms:
                yield from self._hold(self._frame(mark))
            else:
                self._tape.take(len(mark))
                if mark in self._rules.thoughts:
                    yield from self._think(self._rules.thoughts[mark])
                elif mark in self._rules.closers:
                    self._account.recant()  # its opener was in the prompt
        self._account.end()

    def _listen(self, marks: Markers) -> None:
        self._marks = marks
        self._marked = marks.search

    def _words(self) -> Reading[str]:
        """Passes words on up to the next mark, and says which it is; none at the end."""
        tape, account = self._tape, self._account
        while True:
            distance, mark = self._marks.find(tape)
            if distance:
                account.say(tape.take(distance))
                if account.said and self._marks is self._rules.first:
                    self._listen(self._rules.later)
            if mark or tape.ended:
                return mark
            self._plain = not account.fresh and not account.waits and tape.at == len(tape.window)
            yield
            self._plain = False

    def _heeds(self, mark: str) -> bool:
        """Whether a mark counts where it stands."""
        where, of = self._account.where(), self._rules
        if mark in of.forms:
            return any(self._standing(form, where) for form in of.forms[mark])
        if mark in of.thoughts:
            return where in _THOUGHT_STANDINGS[of.ear][of.thoughts[mark].place]
        if mark in of.closers:
            return self._closes(where)
        return of.ear == "open" or (where in _ANYWHERE and (mark.startswith(UNTYPED) or self._account.fresh))

    def _closes(self, where: Where) -> bool:
        """Whether a lone closer counts: within a line, only the first, and only before any call."""
        if self._open is False or self._rules.ear == "strict":
            return self._open is not False and where == "start"
        return where in (_ANYWHERE if self._account.unsettled else _SURE)

    def _standing(self, form: Form, where: Where) -> Standing | None:
        return _STANDINGS[self._rules.ear][form.place].get(where)

    def _hold(self, reading: Reading[None]) -> Reading[None]:
        """Reads something whose text is held back; where that gets too much, all the rest is words."""
        self._tape.begin()
        try:
            yield from reading
        except HeldTooLong:
            self._account.say(self._tape.release())
            self._listen(_DEAF)

    def _frame(self, mark: str) -> Reading[None]:
        tape, where = self._tape, self._account.where()
        tape.take(len(mark))
        yield from space(tape)
        form = yield from self._form(mark, where)
        if form is None:
            found = yield from self._empty(mark, where)
        else:
            found = yield from form.read(tape, mark, self._offer_for(form))
        if found is None and self._begun(mark, where):
            found = Found()
        self._decide(found, maybe=form is not None and self._standing(form, where) == "maybe")
        if found is not None and found.thought is not None:
            yield from self._think(found.thought)
        if found is not None and found.plain:
            yield from self._words_until(found.plain)

    def _words_until(self, ends: tuple[str, ...]) -> Reading[None]:
        """Passes on words in which nothing else counts."""
        self._listen(_any_of(ends))
        yield from self._words()
        self._listen(self._rules.later)

    def _offer_for(self, form: Form) -> Offer:
        """The tools on offer. A frame that can't be anything else holds a call even where there is no such tool."""
        certain = form.place in {"anywhere", "start"} and self._rules.ear != "strict"
        return self._offer.forwarding if certain else self._offer

    def _form(self, mark: str, where: Where) -> Reading[Form | None]:
        following = yield from peek(self._tape)
        for form in self._rules.forms[mark]:
            if self._standing(form, where) and may_follow(form, following):
                return form
        return None

    def _empty(self, mark: str, where: Where) -> Reading[Found | None]:
        for form in self._rules.forms[mark]:
            if where in _SURE and form.close and (yield from took(self._tape, form.close)):
                return Found()
        return None

    def _begun(self, mark: str, where: Where) -> bool:
        """Whether the reply ended before it said more than that there is a call."""
        return where == "glued" and len(mark) > 1 and self._tape.ended and self._tape.since().rstrip() == mark

    def _decide(self, found: Found | None, *, maybe: bool, every: bool = False) -> None:
        raw = self._tape.release()
        if found is None:
            self._account.say(raw)
        else:
            self._account.keep(raw, found, maybe=maybe, every=every)

    def _ticks(self, tick: str) -> Reading[None]:
        where = self._account.where()
        ticks = yield from run(self._tape, _TICKS[tick])
        if len(ticks) >= _FENCE and where in _SURE:
            yield from self._fence(ticks, where)
            return
        if tick == "`":
            self._account.line.toggle_code(len(ticks))
        self._account.say(self._tape.release())

    def _fence(self, ticks: str, where: Where) -> Reading[None]:
        info, mark = yield from until(self._tape, _INFO_ENDS)
        if mark != "\n":  # it wasn't a fence, but code within a line
            if ticks[0] == "`":
                self._account.line.toggle_code(len(ticks))
            self._account.say(self._tape.release())
            return
        inside = self._tape.place()
        blocks = yield from self._blocks(info, where)
        if blocks:
            yield from self._block(ticks, inside, blocks)
        else:
            yield from self._code(ticks)

    def _blocks(self, info: str, where: Where) -> Reading[Sequence[Block]]:
        """The ways in which the block that begins here may be calls, going by its name and its first line."""
        name = (info.split() or [""])[0].lower()
        blocks = self._rules.blocks.get(name, ())
        if not blocks or (self._rules.ear == "strict" and where != "start"):
            return ()
        beginning = (yield from look(self._tape, _BEGINNING)).lstrip()
        return [block for block in blocks if block.begins(beginning, self._offer)]

    def _block(self, ticks: str, inside: int, blocks: Sequence[Block]) -> Reading[None]:
        """Reads a block of code that may be calls. Where a call goes on beyond the end of the fence, that wasn't its end."""
        ends, found, every = _fence_ends(ticks), None, False
        for _ in range(_TRIES):
            body, closed = yield from self._inside(ends, inside)
            body = body + "\n" if closed else body.removesuffix(ticks)
            read = ((block.read(body, self._offer), block.every) for block in blocks)
            found, every = next(((found, every) for found, every in read if found), (None, False))
            if found is None or not (found.cut and closed):
                break
        else:
            found = None
        self._decide(found, maybe=not every or self._rules.ear != "open", every=every)

    def _inside(self, ends: Markers, start: int) -> Reading[tuple[str, bool]]:
        """Takes a block of code to its end; what was inside from `start` on, and whether the end came before the reply's."""
        while True:
            _, mark = yield from until(self._tape, ends)
            end = self._tape.place()
            if not mark or (yield from self._ends_fence(mark)):
                return self._tape.since(start, end), bool(mark)

    def _code(self, ticks: str) -> Reading[None]:
        """Passes on a block of code: nothing in it counts."""
        self._account.say(self._tape.release())
        self._listen(_fence_ends(ticks))
        while mark := (yield from self._words()):
            self._tape.begin()
            ended = yield from self._ends_fence(mark)
            self._account.say(self._tape.release())
            if ended:
                break
        self._listen(self._rules.later)

    def _ends_fence(self, mark: str) -> Reading[bool]:
        """Takes a fence; whether it ends a block, as one with nothing behind it does."""
        self._tape.take(len(mark))
        yield from run(self._tape, _TICKS[mark[-1]])
        yield from run(self._tape, _BLANK)
        return (yield from peek(self._tape)) in {"", "\n"}

    def _opened(self) -> Reading[None]:
        """The thought that the prompt opened; some models open it once more."""
        yield from space(self._tape)
        for opener in self._rules.thoughts:
            if (yield from took(self._tape, opener)):
                break
        yield from self._ponder(self._rules.ends, self._rules.closers)

    def _think(self, thought: Thought) -> Reading[None]:
        yield from self._ponder(_thought_ends(thought), (thought.close,))

    def _ponder(self, ends: Markers, closers: Container[str]) -> Reading[None]:
        """Passes thinking on, up to its end or the reply's."""
        tape, account = self._tape, self._account
        account.begin_thought()
        while True:
            distance, mark = ends.find(tape)
            words = tape.take(distance)
            self._thought.append(words)
            account.think(words)
            if mark:
                break
            if tape.ended:
                self._rescue()
                return
            yield
        if mark in closers:
            tape.take(len(mark))
        self._thought.clear()
        account.end_thought()

    def _rescue(self) -> None:
        """A thought that never ended but ends in calls: the model went on to call without closing it."""
        if self._rules.ear == "strict" or self._inner:
            return
        inner = ReplyParser(self._rules, self._offer, False, inner=True)
        calls = (*inner.feed("".join(self._thought)).calls, *inner.close().calls)
        if inner._account.fresh:
            self._account.call(tuple(call for call in calls if not call.cut))


@lru_cache(maxsize=64)
def _any_of(words: tuple[str, ...]) -> Markers:
    return Markers(words)


@lru_cache(maxsize=64)
def _thought_ends(thought: Thought) -> Markers:
    return Markers((thought.close, *thought.ends))


@lru_cache(maxsize=32)
def _fence_ends(ticks: str) -> Markers:
    return Markers("\n" + indent + ticks for indent in ("", " ", "  ", "   "))
