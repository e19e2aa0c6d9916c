"""Calls with tags around their names and parameters: `<function=ls><parameter=path>.</parameter></function>`.

Each call is read by itself, whether or not it is wrapped in tags that hold several, so that none waits for the next. The
parameters are read by `parameters`; the families of tags are rows in `parameter_tags`.
"""

import re
from typing import Literal, Protocol

from treadle.core.calls import Written
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Block, Form, Found, Offer, Place, in_fence, json_text
from treadle.dialects.meaning import lacks
from treadle.dialects.parameters import ParameterReader, Parameters, Tags
from treadle.dialects.scan import Reading, Tape, peek, run, took
from treadle.dialects.shapes import calls_in_cut, calls_in_text
from treadle.dialects.tags import attribute_value, coming, gap, rest_of_tag, took_beyond_space, unquoted

_NAME = re.compile(r"""[^\s<>{}\[\]"\\]+""")
_FENCES = ("", "xml", "tool_call")

_Beginning = Literal["open", "empty", "broken"]


class ReadsParameters(Protocol):
    """Reads what follows the name of a call."""

    def read(self, tape: Tape, name: str, offer: Offer) -> Reading[Parameters]:
        """Takes all parameters, and the end of the call."""
        ...


class CallReader:
    """Reads calls with these tags."""

    def __init__(self, tags: Tags, parameters: ReadsParameters | None = None) -> None:
        self._tags = tags
        self._parameters = parameters or ParameterReader(tags)
        self._wraps = dict(tags.wraps)
        self._closers = tuple(self._wraps.values())
        self._outside = (*tags.between, *self._closers, *tags.opens)

    def forms(self, place: Place = "anywhere", then: str = "") -> tuple[Form | Block, ...]:
        """The forms of call with these tags: inside a tag around them, on their own, and in a code fence.

        place, then  see `Form`; they are about the tags around calls
        """
        wrapped = tuple(Form((mark,), self.read, place, then, close) for mark, close in self._tags.wraps)
        alone = Form(self._tags.opens, self.read, self._tags.place)
        return (*wrapped, alone, in_fence(Form((*self._wraps, *self._tags.opens), self.read, fences=_FENCES)))

    def read(self, tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
        """See `Form`."""
        offer = offer.declared if self._tags.declared else offer
        return self._wrapped(tape, mark, offer) if mark in self._wraps else self._call(tape, offer)

    def _wrapped(self, tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
        """What stands in a tag that may hold several calls: the first of them, or nothing."""
        while True:
            yield from gap(tape)
            if (yield from peek(tape)) in {"{", "["}:
                return (yield from self._json(tape, self._wraps[mark], offer))
            word = yield from coming(tape, self._outside)
            if not word:
                return None
            tape.take(len(word))
            if word in self._tags.opens:
                yield from gap(tape)
                return (yield from self._call(tape, offer))
            if word in self._closers:
                return Found()

    def _json(self, tape: Tape, close: str, offer: Offer) -> Reading[Found | None]:
        """A call that is JSON after all."""
        start = tape.place()
        ending = yield from take_value(tape, tape.take(1))
        raw = tape.since(start)
        if ending == "cut":
            return calls_in_cut(raw, offer)
        yield from gap(tape)
        if ending == "broken" or (yield from coming(tape, (close, *self._outside))) is None:
            return None
        yield from self._leave(tape, (close, *self._closers))
        return calls_in_text(raw, offer)

    def _call(self, tape: Tape, offer: Offer) -> Reading[Found | None]:
        if self._tags.naming == "pair":
            if (yield from peek(tape)) == "{":
                return (yield from self._json(tape, self._tags.close, offer))
            if (yield from took(tape, self._tags.close)):
                return Found()
        name, beginning = yield from self._name(tape, offer)
        if beginning == "broken":
            return None
        found = Parameters("whole") if beginning == "empty" else (yield from self._parameters.read(tape, name, offer))
        if found.ending == "whole":
            yield from self._leave(tape, (*self._tags.between, *self._closers))
        return self._decided(found, name, offer)

    def _name(self, tape: Tape, offer: Offer) -> Reading[tuple[str, _Beginning]]:
        """The name of a call, and whether parameters may follow it. The end of its tag may be missing if there is such a tool."""
        if self._tags.naming == "pair":
            name = yield from run(tape, _NAME)
            yield from gap(tape)
            yield from took(tape, self._tags.pair[2])
            return name, "open" if name else "broken"
        text, mark = yield from rest_of_tag(tape)
        inside = text.strip().removesuffix("/")
        name = unquoted(inside, offer.has) if self._tags.naming == "plain" else attribute_value(inside)
        if not name or not (mark == ">" or (mark and offer.has(name))):
            return name, "broken"
        return name, "empty" if text.rstrip().endswith("/") else "open"

    def _leave(self, tape: Tape, words: tuple[str, ...]) -> Reading[None]:
        """Takes what follows a call and says nothing, up to the end of the tag around it."""
        while words:
            word = yield from took_beyond_space(tape, words)
            if not word or word in self._closers:
                return

    def _decided(self, found: Parameters, name: str, offer: Offer) -> Found | None:
        """The call, if it is one. One that was closed by nothing but the end of the reply has to have what the tool needs."""
        if found.ending == "broken" or not offer.heeds((name,)):
            return None
        text = found.body or json_text(found.arguments)
        bare = not found.body and (not found.arguments or lacks(found.arguments, name, offer))
        cut = found.ending == "cut" or (found.ending == "ended" and (bare or self._tags.shut))
        return Found((Written("", name, text, cut=cut),))
