"""Calls with tags around their names and parameters: `<function=ls><parameter=path>.</parameter></function>`.

Each call is read by itself, whether or not it is wrapped in tags that hold several, so that none waits for the next. The
parameters are read by `parameters`; the families of tags are rows in `parameter_tags`.
"""

import re
from typing import Literal, Protocol

from treadle.core.calls import Written
from treadle.dialects.argument_values import lacks_required
from treadle.dialects.forms import CallMatch, FencedForm, Form, OfferedTools, Placement, to_fenced, to_json_text
from treadle.dialects.json_calls import calls_in_cut, calls_in_text
from treadle.dialects.json_end import take_value
from treadle.dialects.parameters import CallParameters, ParameterReader, ParameterTags
from treadle.dialects.scanner import Reading, Tape, peek, take_if_next, take_run
from treadle.dialects.tags import parse_attribute_value, peek_word, skip_gap, take_tag, take_word_beyond_space, unquote_known

_NAME = re.compile(r"""[^\s<>{}\[\]"\\]+""")
_FENCES = ("", "xml", "tool_call")

_NameEnding = Literal["open", "empty", "broken"]


class ParametersReader(Protocol):
    """Protocol: reads what follows the name of a call."""

    def read(self, tape: Tape, name: str, offer: OfferedTools) -> Reading[CallParameters]:
        """Take all parameters, and the end of the call."""
        ...


class TaggedCallReader:
    """Reads calls with these tags."""

    def __init__(self, tags: ParameterTags, parameters: ParametersReader | None = None) -> None:
        self._tags = tags
        self._parameters = parameters or ParameterReader(tags)
        self._wraps = dict(tags.wraps)
        self._closers = tuple(self._wraps.values())
        self._outside = (*tags.between, *self._closers, *tags.opens)

    def forms(self, place: Placement = "anywhere", then: str = "") -> tuple[Form | FencedForm, ...]:
        """Return the forms of call with these tags: inside a tag around them, on their own, and in a code fence.

        place, then  see `Form`; they apply to the tags around calls
        """
        wrapped = tuple(Form((mark,), self.read, place, then, close) for mark, close in self._tags.wraps)
        alone = Form(self._tags.opens, self.read, self._tags.place)
        return (*wrapped, alone, to_fenced(Form((*self._wraps, *self._tags.opens), self.read, fences=_FENCES)))

    def read(self, tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
        """See `Form`."""
        offer = offer.declared if self._tags.declared else offer
        return self._read_wrapped(tape, mark, offer) if mark in self._wraps else self._read_call(tape, offer)

    def _read_wrapped(self, tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
        """Read the content of a tag that may hold several calls: the first of them, or nothing."""
        while True:
            yield from skip_gap(tape)
            if (yield from peek(tape)) in {"{", "["}:
                return (yield from self._read_json(tape, self._wraps[mark], offer))
            word = yield from peek_word(tape, self._outside)
            if not word:
                return None
            tape.take(len(word))
            if word in self._tags.opens:
                yield from skip_gap(tape)
                return (yield from self._read_call(tape, offer))
            if word in self._closers:
                return CallMatch()

    def _read_json(self, tape: Tape, close: str, offer: OfferedTools) -> Reading[CallMatch | None]:
        """Read a call that is JSON instead of tags."""
        start = tape.place()
        ending = yield from take_value(tape, tape.take(1))
        raw = tape.held_since(start)
        if ending == "cut":
            return calls_in_cut(raw, offer)
        yield from skip_gap(tape)
        if ending == "broken" or (yield from peek_word(tape, (close, *self._outside))) is None:
            return None
        yield from self._skip_to_wrap_end(tape, (close, *self._closers))
        return calls_in_text(raw, offer)

    def _read_call(self, tape: Tape, offer: OfferedTools) -> Reading[CallMatch | None]:
        if self._tags.naming == "pair":
            if (yield from peek(tape)) == "{":
                return (yield from self._read_json(tape, self._tags.close, offer))
            if (yield from take_if_next(tape, self._tags.close)):
                return CallMatch()
        name, beginning = yield from self._read_name(tape, offer)
        if beginning == "broken":
            return None
        found = CallParameters("whole") if beginning == "empty" else (yield from self._parameters.read(tape, name, offer))
        if found.ending == "whole":
            yield from self._skip_to_wrap_end(tape, (*self._tags.between, *self._closers))
        return self._to_match(found, name, offer)

    def _read_name(self, tape: Tape, offer: OfferedTools) -> Reading[tuple[str, _NameEnding]]:
        """Read the name of a call, and whether parameters may follow it.

        The end of its tag may be missing if there is such a tool.
        """
        if self._tags.naming == "pair":
            name = yield from take_run(tape, _NAME)
            yield from skip_gap(tape)
            yield from take_if_next(tape, self._tags.pair[2])
            return name, "open" if name else "broken"
        text, mark = yield from take_tag(tape)
        inside = text.strip().removesuffix("/")
        name = unquote_known(inside, offer.has) if self._tags.naming == "plain" else parse_attribute_value(inside)
        if not name or not (mark == ">" or (mark and offer.has(name))):
            return name, "broken"
        return name, "empty" if text.rstrip().endswith("/") else "open"

    def _skip_to_wrap_end(self, tape: Tape, words: tuple[str, ...]) -> Reading[None]:
        """Take what follows a call and has no meaning, up to the end of the tag around it."""
        while words:
            word = yield from take_word_beyond_space(tape, words)
            if not word or word in self._closers:
                return

    def _to_match(self, found: CallParameters, name: str, offer: OfferedTools) -> CallMatch | None:
        """Return the call, if it is one. A call closed only by the end of the reply must have all required arguments."""
        if found.ending == "broken" or not offer.heeds((name,)):
            return None
        text = found.body or to_json_text(found.arguments)
        bare = not found.body and (not found.arguments or lacks_required(found.arguments, name, offer))
        cut = found.ending == "cut" or (found.ending == "ended" and (bare or self._tags.shut))
        return CallMatch((Written("", name, text, cut=cut),))
