"""The automatic dialect: reads all forms at once. It teaches the form that most models have seen."""

from msgspec.structs import replace

from treadle.dialects.dialect import TextDialect
from treadle.dialects.formats import (
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
from treadle.dialects.forms import FencedForm, Form, ThinkingFrame
from treadle.dialects.reply_parser import TOKEN_PREFIXES

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
_ALL_DIALECTS = [dialect for family in _FAMILIES for dialect in family.DIALECTS.values()]
_TYPED = ("</s>", "<eos>", "<end_of_turn>")  # dropped after a call or a thought, but not from words
_MORE_THOUGHTS = (
    ThinkingFrame("\u25c1think\u25b7", "\u25c1/think\u25b7", place="anywhere"),
    ThinkingFrame("", "[BEGIN FINAL RESPONSE]"),
)
_NOISE = tuple(sorted({token for dialect in _ALL_DIALECTS for token in dialect.noise if token.startswith(TOKEN_PREFIXES)}))
_THOUGHTS = tuple(dict.fromkeys(thought for dialect in _ALL_DIALECTS for thought in dialect.thoughts if thought.place != "line"))
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


def _keep_sign_marks(form: Form | FencedForm) -> Form | FencedForm:
    """Return a form without the marks that begin like words: because of these, plain text would have to wait."""
    return (
        form if isinstance(form, FencedForm) else replace(form, marks=tuple(mark for mark in form.marks if not mark[0].isalpha()))
    )


STRICT = replace(
    AUTO,
    ear="strict",
    forms=tuple(map(_keep_sign_marks, _FORMS)),
    thoughts=tuple(thought for thought in AUTO.thoughts if not thought.open[:1].isalpha()),
    noise=(),
)

DIALECTS = {"auto": AUTO}
