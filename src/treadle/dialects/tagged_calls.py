"""Calls with tags around their names and parameters: `<function=ls><parameter=path>.</parameter></function>`.

Each call is read by itself, whether or not it is wrapped in tags that hold several, so that none waits for the next. The
parameters are read by `parameters`; the families of tags are rows in `parameter_tags`. In a prompt, values that can't stand
between tags make the arguments of a call a JSON object, which is read as well.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, assert_never

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects.argument_values import lacks_required
from treadle.dialects.forms import CallMatch, FencedForm, Form, OfferedTools, Placement, to_fenced, to_json_text
from treadle.dialects.json_calls import calls_in_cut, calls_in_text
from treadle.dialects.parameters import (
    CDATA,
    CDATA_END,
    CallParameters,
    ParameterReader,
    ParameterTags,
    parse_attribute_value,
    peek_word,
    skip_gap,
    take_tag,
    take_word_beyond_space,
    unquote_known,
)
from treadle.dialects.scanner import Reading, Tape, peek, take_if_next, take_run, take_value

PLAIN_NAME = re.compile(r"[\w.-]+")

_EXAMPLE = Call("", "TOOL", {"ARGUMENT": "VALUE"})
_NAME = re.compile(r"""[^\s<>{}\[\]"\\]+""")
_FENCES = ("", "xml", "tool_call")

_NameEnding = Literal["open", "empty", "broken"]


class TagSpelling(Struct, frozen=True):
    """The layout of calls between their tags.

    wrap    the tag around calls, and what closes it; `each` puts it around each of them
    line    the text between tags; `inset` around a value
    typed   the tag of a value says whether it is a string
    """

    tags: ParameterTags
    wrap: tuple[str, str] = ("", "")
    each: bool = False
    line: str = "\n"
    inset: str = ""
    typed: bool = False

    def spell(self, calls: Sequence[Call]) -> str:
        """Return the calls in this spelling."""
        opens, close = (f"{self.wrap[0]}{self.line}", f"{self.line}{self.wrap[1]}") if self.wrap[0] else ("", "")
        written = [self._spell_call(call) for call in calls]
        if self.each:
            return self.line.join(f"{opens}{one}{close}" for one in written)
        return f"{opens}{self.line.join(written)}{close}" if written else ""

    def _spell_call(self, call: Call) -> str:
        lines = [self._spell_head(call.name)]
        if all(PLAIN_NAME.fullmatch(key) and self._fits(value) for key, value in call.arguments.items()):
            lines += [self._spell_parameter(key, value) for key, value in call.arguments.items()]
        else:
            lines.append(escape_tags(to_json_text(call.arguments)))
        return self.line.join([*lines, self.tags.close])

    def _spell_head(self, name: str) -> str:
        match self.tags.naming:
            case "plain":
                return f"{self.tags.opens[0]}{name}>"
            case "attribute":
                return f'{self.tags.opens[0]}"{name}">'
            case "pair":
                return f"{self.tags.opens[0]}{name}"
            case _:
                assert_never(self.tags.naming)

    def _spell_parameter(self, key: str, value: Any) -> str:
        opens, end = self.tags.keys[0], self.tags.end
        text = self._spell_text(value) if isinstance(value, str) else escape_tags(to_json_text(value))
        match self.tags.naming:
            case "plain":
                inset = "\n" if text[:1] == "\n" or text[-1:] == "\n" else self.inset
                return f"{opens}{key}>{inset}{text}{inset}{end}"
            case "attribute":
                kind = f' string="{to_json_text(isinstance(value, str))}"' if self.typed else ""
                return f'{opens}"{key}"{kind}>{text}{end}'
            case "pair":
                return f"{opens}{key}{self.tags.pair[0]}{self.line}{self.tags.pair[1]}{text}{end}"
            case _:
                assert_never(self.tags.naming)

    def _fits(self, value: object) -> bool:
        """Return whether a value can stand between tags: no text with such tags in it, unless it can be wrapped."""
        if not isinstance(value, str) or self.tags.cdata:
            return True
        return not any(tag in value for tag in (self.tags.end, self.tags.close, *self.tags.keys))

    def _spell_text(self, value: str) -> str:
        if self.tags.quoted and value.strip()[:1] == '"':
            return to_json_text(value)
        if self.tags.cdata and (value != value.strip() or "<" in value or "&" in value):
            return f"{CDATA}{value.replace(CDATA_END, f']]{CDATA_END}{CDATA}>')}{CDATA_END}"
        return value


def escape_tags(json: str) -> str:
    """Return the JSON with its tags escaped."""
    return json.replace("<", "\\u003c")


def tag_lesson(spell: Callable[[Sequence[Call]], str]) -> str:
    """Return instructions for writing calls, with an example."""
    rules = "Strings stand as they are, other values as JSON. For several calls, write several of these."
    return f"To call a tool, write exactly this:\n{spell([_EXAMPLE])}\n{rules}"


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
