"""Calls as bare JSON: an object or list that is the reply or ends it, plain or in a code fence, with or without thoughts.

The members of the family differ in where such JSON counts, in the key names, and in the frames that may replace it.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.dialects.dialect import TextDialect
from treadle.dialects.formats.tagged_json import HERMES, MISTRAL_LIST, PYTHON_TAG
from treadle.dialects.forms import CallMatch, Form, OfferedTools, take_closer, to_json_text
from treadle.dialects.json_calls import (
    ARGUMENT_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    OTHER_KEYS,
    QUOTE,
    TEXT_KEYS,
    THOUGHT_KEYS,
    WRAPPER_KEYS,
    JsonSpelling,
    calls_in_cut,
    calls_in_text,
    json_lesson,
)
from treadle.dialects.scanner import Reading, Tape, peek_ahead, take_value

_BEGINNING = 120  # so many characters show whether a value may be a call
_CALL_KEYS = (*NAME_KEYS, *WRAPPER_KEYS, *LIST_KEYS)
_KEYS = "|".join((*_CALL_KEYS, *ARGUMENT_KEYS, *THOUGHT_KEYS, *TEXT_KEYS, *OTHER_KEYS))
_FIRST = re.compile(rf"(?:\{{\s*)?{QUOTE}?({_KEYS}){QUOTE}?\s*:\s*(?:{QUOTE}([^\"'\u201d]*){QUOTE})?")

_LATER = re.compile(rf"{QUOTE}(?:{'|'.join(_CALL_KEYS)}){QUOTE}\s*:")
_GLANCE = 4  # so many show whether a key may come first, which in most brackets doesn't
_KEYED = {"{": re.compile(r"[^\[\]{}]"), "[": re.compile(r"\{\s*(?:[^\[\]{}]|\Z)")}


def _read_bare(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    start = tape.place()
    if not _KEYED[mark].match((yield from peek_ahead(tape, _GLANCE))):
        return None
    if not _may_be_call(mark, (yield from peek_ahead(tape, _BEGINNING)), offer):
        return None
    ending = yield from take_value(tape, mark)
    raw = mark + tape.held_since(start)
    if ending != "whole":
        return calls_in_cut(raw, offer, "bare") if ending == "cut" else None
    if not (yield from take_closer(tape, ";")):  # between one object and the next
        yield from take_closer(tape, ",")
    return calls_in_text(raw, offer, "bare")


def _may_be_call(mark: str, beginning: str, offer: OfferedTools) -> bool:
    """Return whether a value that begins like this may be a call, so that other JSON isn't held back."""
    first = _FIRST.match(beginning)
    if first is None:
        return False
    key, value = first.groups()
    if key in TEXT_KEYS or key in OTHER_KEYS:
        return _LATER.search(beginning, first.end(1)) is not None
    return mark == "[" or key not in NAME_KEYS or value is None or offer.heeds((value,))


def _read_declared(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    """Read JSON that only the name of an offered tool identifies as a call."""
    return _read_bare(tape, mark, offer.declared)


_FENCES = ("", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool_use", "tool_code")
BARE = Form(("{", "["), _read_bare, place="whole", fences=_FENCES)
DECLARED = replace(BARE, read=_read_declared)
ANYWHERE = replace(BARE, place="anywhere")

_LESSON = """\
To call tools, reply with nothing but a JSON object like this one:
{"thoughts": "why you call them", "tool_calls": [{"tool": "TOOL", "args": {"ARGUMENT": "VALUE"}}]}
List several calls in "tool_calls" if you need them at once."""


def _spell_with_thoughts(calls: Sequence[Call]) -> str:
    return to_json_text({"thoughts": "", "tool_calls": [{"tool": call.name, "args": call.arguments} for call in calls]})


def _make_dialect(name: str, forms: tuple[Form, ...], spelling: JsonSpelling, noise: tuple[str, ...] = ()) -> TextDialect:
    return TextDialect(name, forms, json_lesson(spelling.spell, listed=spelling.listed), spelling.spell, noise=noise)


_LLAMA = JsonSpelling(between="; ", keys=("name", "parameters"))
_ROWS = (
    TextDialect("own_json_thoughts", (BARE,), _LESSON, _spell_with_thoughts),
    _make_dialect("bare_json", (DECLARED,), JsonSpelling()),
    _make_dialect("json_array", (DECLARED,), JsonSpelling(listed=True)),
    _make_dialect("llama3_json", (PYTHON_TAG, ANYWHERE), _LLAMA, ("<|eot_id|>", "<|eom_id|>")),
    _make_dialect("xlam_json", (HERMES, MISTRAL_LIST, ANYWHERE), JsonSpelling(listed=True)),
)
DIALECTS = {row.name: row for row in _ROWS}
