"""All forms at once: whichever arrives is read. What is taught is the form most models have seen."""

from msgspec.structs import replace

from treadle.dialects import (
    bare_json,
    braces,
    channels,
    commands,
    messages,
    named_json,
    nested_parameters,
    parameter_tags,
    pythonic,
    tagged_json,
    tool_use,
    xtml,
)
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import Block, Form, Thought
from treadle.dialects.reply import UNTYPED

_FORMS = (
    *tagged_json.FORMS,
    *parameter_tags.FORMS,
    *nested_parameters.MINIMAX_M3,
    *named_json.FORMS,
    *messages.FORMS,
    *channels.FORMS,
    xtml.XTML,
    tool_use.TOOL_USE,
    *braces.FORMS,
    *pythonic.FORMS,
    bare_json.BARE,
    commands.LINES,
)
_FAMILIES = (
    tagged_json,
    parameter_tags,
    nested_parameters,
    named_json,
    messages,
    channels,
    xtml,
    bare_json,
    braces,
    commands,
    pythonic,
    tool_use,
)
_KNOWN = [dialect for family in _FAMILIES for dialect in family.DIALECTS.values()]
_TYPED = ("</s>", "<eos>", "<end_of_turn>")  # dropped after a call or a thought, but not from words
_MORE_THOUGHTS = (
    Thought("\u25c1think\u25b7", "\u25c1/think\u25b7", place="anywhere"),
    Thought("", "[BEGIN FINAL RESPONSE]"),
)
_NOISE = tuple(sorted({token for dialect in _KNOWN for token in dialect.noise if token.startswith(UNTYPED)}))
_THOUGHTS = tuple(dict.fromkeys(thought for dialect in _KNOWN for thought in dialect.thoughts if thought.place != "line"))
_HERMES = tagged_json.DIALECTS["hermes_json"]

AUTO = TextDialect(
    "auto",
    _FORMS,
    _HERMES.lesson,
    _HERMES.spell,
    (*_THOUGHTS, *_MORE_THOUGHTS),
    (*_NOISE, *_TYPED),
    ear="careful",
)


def _signed(form: Form | Block) -> Form | Block:
    """A form without the marks that begin like words: for the sake of these, words would have to wait."""
    return form if isinstance(form, Block) else replace(form, marks=tuple(mark for mark in form.marks if not mark[0].isalpha()))


STRICT = replace(
    AUTO,
    ear="strict",
    forms=tuple(map(_signed, _FORMS)),
    thoughts=tuple(thought for thought in AUTO.thoughts if not thought.open[:1].isalpha()),
    noise=(),
)

DIALECTS = {"auto": AUTO}
