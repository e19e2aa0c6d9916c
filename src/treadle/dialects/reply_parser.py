"""Incremental parser of one reply: separates text, thinking and calls, for all forms at once.

This module decides whether something counts as a call: by where it stands and what follows it. Each form reads its own
syntax. Text is passed on as soon as it can't be part of a call any more; a call that only counts at the end of the reply
waits until it ends.
"""

import re
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from treadle.core.seams import Heard
from treadle.dialects.forms import CallMatch, FencedForm, Form, OfferedTools, Placement, ThinkingFrame, may_follow, to_fenced
from treadle.dialects.output import LinePosition, ReplyOutput
from treadle.dialects.scanner import (
    HeldTooLong,
    Markers,
    Reading,
    Tape,
    peek,
    peek_ahead,
    take_if_next,
    take_run,
    take_space,
    take_until,
)

Strictness = Literal["open", "careful", "strict"]
Certainty = Literal["sure", "maybe"]

TOKEN_PREFIXES = ("<|", "<\uff5c", "[")  # text doesn't contain tokens that begin like this
THOUGHTS = (ThinkingFrame("<think>", "</think>"), ThinkingFrame("<thinking>", "</thinking>"))

_TICKS = {"`": re.compile("`+"), "~": re.compile("~+")}
_FENCE = 3  # so many ticks at the start of a line begin a block of code
_TRIES = 8  # how often the end of a fence may turn out to be inside a call
_NO_MARKERS = Markers(())
_INFO_ENDS = Markers("\n`")
_BEGINNING = 80  # so many characters of a block show whether it may be calls
_BLANK = re.compile(r"[ \t\r]+")

_START: dict[LinePosition, Certainty] = {"start": "sure"}
_SURE: dict[LinePosition, Certainty] = {**_START, "line": "sure"}
_ANYWHERE: dict[LinePosition, Certainty] = {**_SURE, "sentence": "sure", "glued": "sure", "inside": "sure"}
_ENDING: dict[LinePosition, Certainty] = {"start": "maybe", "line": "maybe"}
_CERTAINTIES: dict[Strictness, dict[Placement, dict[LinePosition, Certainty]]] = {
    "open": {
        "start": _START,
        "line": {**_ANYWHERE, "quoted": "sure"},
        "whole": _ENDING,
        "anywhere": {**_ANYWHERE, "quoted": "sure"},
    },
    "careful": {"start": _START, "line": {**_ANYWHERE, "inside": "maybe"}, "whole": _ENDING, "anywhere": _ANYWHERE},
    "strict": {"start": _START, "line": _SURE, "whole": {"start": "maybe"}, "anywhere": _ANYWHERE},
}
_THINKING_CERTAINTIES: dict[Strictness, dict[Placement, dict[LinePosition, Certainty]]] = {
    "open": {"start": _START, "line": _SURE, "anywhere": _ANYWHERE},
    "careful": {"start": _START, "line": _SURE, "anywhere": _ANYWHERE},
    "strict": {"start": _START, "line": _START, "anywhere": _START},
}


class ParserRules(Struct, frozen=True):
    """What to look for, compiled once for each set of forms: `first` until there is any text, `later` after that."""

    ear: Strictness
    first: Markers
    later: Markers
    forms: dict[str, tuple[Form, ...]]
    blocks: dict[str, tuple[FencedForm, ...]]
    thoughts: dict[str, ThinkingFrame]
    closers: frozenset[str]
    ends: Markers  # of a thought that the prompt opened
    noise: frozenset[str]


@lru_cache(maxsize=64)
def compile_rules(
    forms: tuple[Form | FencedForm, ...],
    thoughts: tuple[ThinkingFrame, ...] = (),
    noise: tuple[str, ...] = (),
    ear: Strictness = "careful",
) -> ParserRules:
    """Compile the rules for reading these forms."""
    framed = [form for form in forms if isinstance(form, Form)]
    by_mark = {mark: tuple(form for form in framed if mark in form.marks) for form in framed for mark in form.marks}
    blocks = [form if isinstance(form, FencedForm) else to_fenced(form) for form in forms]
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
    return ParserRules(ear, first, later, by_mark, by_fence, by_opener, closers, ends, frozenset(noise))


class ReplyParser:
    """Parses one reply; see `core.seams.Parser`."""

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

    def __init__(self, of: ParserRules, offer: OfferedTools, reasoning_open: bool | None = None, *, inner: bool = False) -> None:
        self._rules = of
        self._open = reasoning_open
        self._inner = inner  # whether it reads a thought for the parser of the reply
        self._offer = offer
        self._tape = Tape()
        self._account = ReplyOutput()
        self._line_add = self._account.line.add
        self._thought: list[str] = []
        self._plain = False  # whether words can go straight through
        self._set_markers(of.first)
        self._reading = self._parse()
        next(self._reading)

    def feed(self, text: str) -> Heard:
        """Return what is certain after this piece."""
        if self._plain and self._marked(text) is None:
            self._line_add(text)
            return Heard(text)
        self._tape.more(text)
        next(self._reading)
        return self._account.heard()

    def close(self) -> Heard:
        """Return what is left at the end of the reply."""
        self._tape.ended = True
        next(self._reading, None)
        return self._account.heard()

    @property
    def touched(self) -> int:
        """How many characters were copied for reading: linear in the reply."""
        return self._tape.touched

    def _parse(self) -> Reading[None]:
        if self._open:
            yield from self._read_opened_thinking()
        while mark := (yield from self._pass_text()):
            if mark in _TICKS:
                yield from self._hold(self._read_ticks(mark))
            elif not self._accepts(mark):
                self._account.say(self._tape.take(1))  # another mark may begin inside of it
            elif mark in self._rules.forms:
                yield from self._hold(self._read_frame(mark))
            else:
                self._tape.take(len(mark))
                if mark in self._rules.thoughts:
                    yield from self._read_thinking(self._rules.thoughts[mark])
                elif mark in self._rules.closers:
                    self._account.recant()  # its opener was in the prompt
        self._account.end()

    def _set_markers(self, marks: Markers) -> None:
        self._marks = marks
        self._marked = marks.search

    def _pass_text(self) -> Reading[str]:
        """Pass text on up to the next mark, and return the mark; empty at the end."""
        tape, account = self._tape, self._account
        while True:
            distance, mark = self._marks.find(tape)
            if distance:
                account.say(tape.take(distance))
                if account.said and self._marks is self._rules.first:
                    self._set_markers(self._rules.later)
            if mark or tape.ended:
                return mark
            self._plain = not account.fresh and not account.waits and tape.at == len(tape.window)
            yield
            self._plain = False

    def _accepts(self, mark: str) -> bool:
        """Return whether a mark counts at its position."""
        where, of = self._account.where(), self._rules
        if mark in of.forms:
            return any(self._certainty_of(form, where) for form in of.forms[mark])
        if mark in of.thoughts:
            return where in _THINKING_CERTAINTIES[of.ear][of.thoughts[mark].place]
        if mark in of.closers:
            return self._accepts_closer(where)
        return of.ear == "open" or (where in _ANYWHERE and (mark.startswith(TOKEN_PREFIXES) or self._account.fresh))

    def _accepts_closer(self, where: LinePosition) -> bool:
        """Return whether a lone closing mark counts: within a line, only the first, and only before any call."""
        if self._open is False or self._rules.ear == "strict":
            return self._open is not False and where == "start"
        return where in (_ANYWHERE if self._account.unsettled else _SURE)

    def _certainty_of(self, form: Form, where: LinePosition) -> Certainty | None:
        return _CERTAINTIES[self._rules.ear][form.place].get(where)

    def _hold(self, reading: Reading[None]) -> Reading[None]:
        """Read something whose text is held back; if that gets too long, all the rest is text."""
        self._tape.begin_hold()
        try:
            yield from reading
        except HeldTooLong:
            self._account.say(self._tape.release())
            self._set_markers(_NO_MARKERS)

    def _read_frame(self, mark: str) -> Reading[None]:
        tape, where = self._tape, self._account.where()
        tape.take(len(mark))
        yield from take_space(tape)
        form = yield from self._find_form(mark, where)
        if form is None:
            found = yield from self._read_empty_frame(mark, where)
        else:
            found = yield from form.read(tape, mark, self._tools_for(form))
        if found is None and self._is_only_begun(mark, where):
            found = CallMatch()
        self._decide(found, maybe=form is not None and self._certainty_of(form, where) == "maybe")
        if found is not None and found.thought is not None:
            yield from self._read_thinking(found.thought)
        if found is not None and found.plain:
            yield from self._pass_text_until(found.plain)

    def _pass_text_until(self, ends: tuple[str, ...]) -> Reading[None]:
        """Pass text on in which nothing else counts."""
        self._set_markers(_markers_for(ends))
        yield from self._pass_text()
        self._set_markers(self._rules.later)

    def _tools_for(self, form: Form) -> OfferedTools:
        """Return the offered tools. A frame that can't be anything else holds a call even if there is no such tool."""
        certain = form.place in {"anywhere", "start"} and self._rules.ear != "strict"
        return self._offer.forwarding if certain else self._offer

    def _find_form(self, mark: str, where: LinePosition) -> Reading[Form | None]:
        following = yield from peek(self._tape)
        for form in self._rules.forms[mark]:
            if self._certainty_of(form, where) and may_follow(form, following):
                return form
        return None

    def _read_empty_frame(self, mark: str, where: LinePosition) -> Reading[CallMatch | None]:
        for form in self._rules.forms[mark]:
            if where in _SURE and form.close and (yield from take_if_next(self._tape, form.close)):
                return CallMatch()
        return None

    def _is_only_begun(self, mark: str, where: LinePosition) -> bool:
        """Return whether the reply ended right after the mark that begins a call."""
        return where == "glued" and len(mark) > 1 and self._tape.ended and self._tape.held_since().rstrip() == mark

    def _decide(self, found: CallMatch | None, *, maybe: bool, every: bool = False) -> None:
        raw = self._tape.release()
        if found is None:
            self._account.say(raw)
        else:
            self._account.keep(raw, found, maybe=maybe, every=every)

    def _read_ticks(self, tick: str) -> Reading[None]:
        where = self._account.where()
        ticks = yield from take_run(self._tape, _TICKS[tick])
        if len(ticks) >= _FENCE and where in _SURE:
            yield from self._read_fence(ticks, where)
            return
        if tick == "`":
            self._account.line.toggle_code(len(ticks))
        self._account.say(self._tape.release())

    def _read_fence(self, ticks: str, where: LinePosition) -> Reading[None]:
        info, mark = yield from take_until(self._tape, _INFO_ENDS)
        if mark != "\n":  # it wasn't a fence, but code within a line
            if ticks[0] == "`":
                self._account.line.toggle_code(len(ticks))
            self._account.say(self._tape.release())
            return
        inside = self._tape.place()
        blocks = yield from self._find_fenced_forms(info, where)
        if blocks:
            yield from self._read_fenced_calls(ticks, inside, blocks)
        else:
            yield from self._pass_code(ticks)

    def _find_fenced_forms(self, info: str, where: LinePosition) -> Reading[Sequence[FencedForm]]:
        """Return the fenced forms that the block here may have, by its name and its first line."""
        name = (info.split() or [""])[0].lower()
        blocks = self._rules.blocks.get(name, ())
        if not blocks or (self._rules.ear == "strict" and where != "start"):
            return ()
        beginning = (yield from peek_ahead(self._tape, _BEGINNING)).lstrip()
        return [block for block in blocks if block.begins(beginning, self._offer)]

    def _read_fenced_calls(self, ticks: str, inside: int, blocks: Sequence[FencedForm]) -> Reading[None]:
        """Read a code block that may be calls. If a call goes on beyond the end of the fence, that wasn't the end."""
        ends, found, every = _fence_end_markers(ticks), None, False
        for _ in range(_TRIES):
            body, closed = yield from self._take_fenced_text(ends, inside)
            body = body + "\n" if closed else body.removesuffix(ticks)
            read = ((block.read(body, self._offer), block.every) for block in blocks)
            found, every = next(((found, every) for found, every in read if found), (None, False))
            if found is None or not (found.cut and closed):
                break
        else:
            found = None
        self._decide(found, maybe=not every or self._rules.ear != "open", every=every)

    def _take_fenced_text(self, ends: Markers, start: int) -> Reading[tuple[str, bool]]:
        """Take a code block to its end.

        Return its text from `start` on, and whether the fence was closed before the reply ended.
        """
        while True:
            _, mark = yield from take_until(self._tape, ends)
            end = self._tape.place()
            if not mark or (yield from self._ends_fence(mark)):
                return self._tape.held_since(start, end), bool(mark)

    def _pass_code(self, ticks: str) -> Reading[None]:
        """Pass on a code block: nothing in it counts."""
        self._account.say(self._tape.release())
        self._set_markers(_fence_end_markers(ticks))
        while mark := (yield from self._pass_text()):
            self._tape.begin_hold()
            ended = yield from self._ends_fence(mark)
            self._account.say(self._tape.release())
            if ended:
                break
        self._set_markers(self._rules.later)

    def _ends_fence(self, mark: str) -> Reading[bool]:
        """Take a fence; return whether it ends a block, as one with nothing after it does."""
        self._tape.take(len(mark))
        yield from take_run(self._tape, _TICKS[mark[-1]])
        yield from take_run(self._tape, _BLANK)
        return (yield from peek(self._tape)) in {"", "\n"}

    def _read_opened_thinking(self) -> Reading[None]:
        """Read the thinking that the prompt opened; some models open it once more."""
        yield from take_space(self._tape)
        for opener in self._rules.thoughts:
            if (yield from take_if_next(self._tape, opener)):
                break
        yield from self._pass_thinking(self._rules.ends, self._rules.closers)

    def _read_thinking(self, thought: ThinkingFrame) -> Reading[None]:
        yield from self._pass_thinking(_thinking_end_markers(thought), (thought.close,))

    def _pass_thinking(self, ends: Markers, closers: Container[str]) -> Reading[None]:
        """Pass thinking on, up to its end or the reply's."""
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
                self._rescue_calls()
                return
            yield
        if mark in closers:
            tape.take(len(mark))
        self._thought.clear()
        account.end_thought()

    def _rescue_calls(self) -> None:
        """Add the calls at the end of unclosed thinking: the model went on to call without closing it."""
        if self._rules.ear == "strict" or self._inner:
            return
        inner = ReplyParser(self._rules, self._offer, False, inner=True)
        calls = (*inner.feed("".join(self._thought)).calls, *inner.close().calls)
        if inner._account.fresh:
            self._account.call(tuple(call for call in calls if not call.cut))


@lru_cache(maxsize=64)
def _markers_for(words: tuple[str, ...]) -> Markers:
    return Markers(words)


@lru_cache(maxsize=64)
def _thinking_end_markers(thought: ThinkingFrame) -> Markers:
    return Markers((thought.close, *thought.ends))


@lru_cache(maxsize=32)
def _fence_end_markers(ticks: str) -> Markers:
    return Markers("\n" + indent + ticks for indent in ("", " ", "  ", "   "))
