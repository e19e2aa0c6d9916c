"""Calls as bare JSON: an object or list that is the reply or ends it, plain or in a code fence, with or without thoughts."""

import re

from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Form, Found, Offer
from treadle.dialects.scan import Reading, Tape, look, peek, space
from treadle.dialects.shapes import ARGUMENTS, ASIDES, LISTS, NAMES, QUOTE, THOUGHTS, WORDS, WRAPPERS, bare_calls, calls_in_cut

_BEGINNING = 120  # so many characters show whether a value may be a call
_TELLING = (*NAMES, *WRAPPERS, *LISTS)
_KEYS = "|".join((*_TELLING, *ARGUMENTS, *THOUGHTS, *WORDS, *ASIDES))
_FIRST = re.compile(rf"[\[{{\s]*{QUOTE}?({_KEYS}){QUOTE}?\s*:\s*(?:{QUOTE}([^\"'\u201d]*){QUOTE})?")

_LATER = re.compile(rf"{QUOTE}(?:{'|'.join(_TELLING)}){QUOTE}\s*:")


def _read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    start = tape.place()
    if not _promises(mark, (yield from look(tape, _BEGINNING)), offer):
        return None
    ending = yield from take_value(tape, mark)
    raw = mark + tape.since(start)
    if ending != "whole":
        return calls_in_cut(raw, offer) if ending == "cut" else None
    yield from space(tape)
    if (yield from peek(tape)) in {";", ","}:  # between one object and the next
        tape.take(1)
    return bare_calls(raw, offer)


def _promises(mark: str, beginning: str, offer: Offer) -> bool:
    """Whether a value that begins like this may be a call, so that other JSON isn't held back."""
    first = _FIRST.match(beginning)
    if first is None or (mark == "[" and beginning[:1] != "{"):
        return False
    key, value = first.groups()
    if key in WORDS or key in ASIDES:
        return _LATER.search(beginning, first.end(1)) is not None
    return mark == "[" or key not in NAMES or value is None or offer.heeds((value,))


_FENCES = ("", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool_use", "tool_code")
BARE = Form(("{", "["), _read, place="whole", fences=_FENCES)

_LESSON = """\
To call tools, reply with nothing but a JSON object like this one:
{"thoughts": "why you call them", "tool_calls": [{"tool": "TOOL", "args": {"ARGUMENT": "VALUE"}}]}
List several calls in "tool_calls" if you need them at once."""

DIALECTS = {"json": TextDialect("json", (BARE,), _LESSON)}
