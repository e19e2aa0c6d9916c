"""Calls as JSON between tags: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. A member of the family is a row here."""

from msgspec import Struct

from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Form, Found, Offer, closed
from treadle.dialects.scan import Markers, Reading, Tape, space, took, until
from treadle.dialects.shapes import calls_in_cut, framed_calls


class Tags(Struct, frozen=True):
    """The tags around a call."""

    open: str
    close: str


def form_of(tags: Tags) -> Form:
    """The form of call with these tags."""
    ends = Markers((tags.close, tags.open))

    def read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
        start = tape.place()
        ending = yield from take_value(tape, tape.take(1))
        raw = tape.since(start)
        if ending == "cut":
            return calls_in_cut(raw, offer)
        yield from space(tape)
        if ending == "whole" and (yield from closed(tape, tags.open, tags.close)):
            return framed_calls(raw, offer)
        yield from until(tape, ends)
        raw = tape.since(start)
        return framed_calls(raw, offer) if (yield from took(tape, tags.close)) else None

    return Form((tags.open,), read, then="{[", close=tags.close, fences=("", "xml", "tool_call"))


HERMES = form_of(Tags("<tool_call>", "</tool_call>"))

_LESSON = """\
To call a tool, write a line like this one, with the tool's name and its arguments as JSON:
<tool_call>{"name": "TOOL", "arguments": {"ARGUMENT": "VALUE"}}</tool_call>
Write one such line for each call, outside of code blocks."""

DIALECTS = {"hermes": TextDialect("hermes", (HERMES,), _LESSON)}
