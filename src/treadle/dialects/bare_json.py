"""Calls as bare JSON: an object or list that is the reply or ends it, plain or in a code fence, with or without thoughts.

The members of the family differ in where such JSON counts, in which names, and in the frames that may come instead of it.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Form, Found, Offer, json_text, shut
from treadle.dialects.scan import Reading, Tape, look
from treadle.dialects.shapes import ARGUMENTS, ASIDES, LISTS, NAMES, QUOTE, THOUGHTS, WORDS, WRAPPERS, calls_in_cut, calls_in_text
from treadle.dialects.spelling import Spelling, lesson
from treadle.dialects.tagged_json import HERMES, MISTRAL_LIST, PYTHON_TAG

_BEGINNING = 120  # so many characters show whether a value may be a call
_TELLING = (*NAMES, *WRAPPERS, *LISTS)
_KEYS = "|".join((*_TELLING, *ARGUMENTS, *THOUGHTS, *WORDS, *ASIDES))
_FIRST = re.compile(rf"(?:\{{\s*)?{QUOTE}?({_KEYS}){QUOTE}?\s*:\s*(?:{QUOTE}([^\"'\u201d]*){QUOTE})?")

_LATER = re.compile(rf"{QUOTE}(?:{'|'.join(_TELLING)}){QUOTE}\s*:")
_GLANCE = 4  # so many show whether a key may come first, which in most brackets doesn't
_KEYED = {"{": re.compile(r"[^\[\]{}]"), "[": re.compile(r"\{\s*(?:[^\[\]{}]|\Z)")}


def _read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    start = tape.place()
    if not _KEYED[mark].match((yield from look(tape, _GLANCE))):
        return None
    if not _promises(mark, (yield from look(tape, _BEGINNING)), offer):
        return None
    ending = yield from take_value(tape, mark)
    raw = mark + tape.since(start)
    if ending != "whole":
        return calls_in_cut(raw, offer, "bare") if ending == "cut" else None
    if not (yield from shut(tape, ";")):  # between one object and the next
        yield from shut(tape, ",")
    return calls_in_text(raw, offer, "bare")


def _promises(mark: str, beginning: str, offer: Offer) -> bool:
    """Whether a value that begins like this may be a call, so that other JSON isn't held back."""
    first = _FIRST.match(beginning)
    if first is None:
        return False
    key, value = first.groups()
    if key in WORDS or key in ASIDES:
        return _LATER.search(beginning, first.end(1)) is not None
    return mark == "[" or key not in NAMES or value is None or offer.heeds((value,))


def _read_declared(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    """Nothing says that such JSON is a call but the name of a tool on offer."""
    return _read(tape, mark, offer.declared)


_FENCES = ("", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool_use", "tool_code")
BARE = Form(("{", "["), _read, place="whole", fences=_FENCES)
DECLARED = replace(BARE, read=_read_declared)
ANYWHERE = replace(BARE, place="anywhere")

_LESSON = """\
To call tools, reply with nothing but a JSON object like this one:
{"thoughts": "why you call them", "tool_calls": [{"tool": "TOOL", "args": {"ARGUMENT": "VALUE"}}]}
List several calls in "tool_calls" if you need them at once."""


def _spell(calls: Sequence[Call]) -> str:
    return json_text({"thoughts": "", "tool_calls": [{"tool": call.name, "args": call.arguments} for call in calls]})


def _dialect(name: str, forms: tuple[Form, ...], spelling: Spelling, noise: tuple[str, ...] = ()) -> TextDialect:
    return TextDialect(name, forms, lesson(spelling.spell, listed=spelling.listed), spelling.spell, noise=noise)


_LLAMA = Spelling(between="; ", keys=("name", "parameters"))
_ROWS = (
    TextDialect("own_json_thoughts", (BARE,), _LESSON, _spell),
    _dialect("bare_json", (DECLARED,), Spelling()),
    _dialect("json_array", (DECLARED,), Spelling(listed=True)),
    _dialect("llama3_json", (PYTHON_TAG, ANYWHERE), _LLAMA, ("<|eot_id|>", "<|eom_id|>")),
    _dialect("xlam_json", (HERMES, MISTRAL_LIST, ANYWHERE), Spelling(listed=True)),
)
DIALECTS = {row.name: row for row in _ROWS}
