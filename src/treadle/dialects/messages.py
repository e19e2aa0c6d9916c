"""Calls as JSON in replies made of marked messages: Cohere's actions, Inkling's tool messages, GigaChat's function calls."""

from collections.abc import Sequence

from treadle.core.calls import Call, Written
from treadle.dialects import mend
from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Form, Found, Offer, Thought, json_text
from treadle.dialects.scan import Markers, Reading, Tape, peek, space, until, within
from treadle.dialects.shapes import calls_in_cut, calls_in_text
from treadle.dialects.spelling import Spelling, lesson
from treadle.dialects.tagged_json import Frame, form_of

_LONGEST = 300  # no header of a message has more characters

ACTIONS = form_of(Frame("<|START_ACTION|>", "<|END_ACTION|>"))
COHERE_THINKING = Thought(
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    ("<|START_ACTION|>", "<|START_RESPONSE|>", "<|START_TEXT|>"),
    "anywhere",
)
COHERE_NOISE = (
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_TEXT|>",
    "<|END_TEXT|>",
    "<|END_ACTION|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|CHATBOT_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
)

_MODEL, _END = "<|message_model|>", "<|end_message|>"
_TOOL_JSON = "<|content_invoke_tool_json|>"
_SPOKEN = ("<|content_text|>", "<|content_invoke_tool_text|>", "<|content_tool_error|>")
_MESSAGE_ENDS = (_END, "<|content_model_end_sampling|>", _MODEL)
_PAYLOAD_ENDS = Markers(_MESSAGE_ENDS)
_HEADER_ENDS = Markers((*_MESSAGE_ENDS, _TOOL_JSON, "<|content_thinking|>", *_SPOKEN))

INKLING_THINKING = Thought(
    "<|content_thinking|>",
    _END,
    (_MODEL, _TOOL_JSON, "<|content_text|>", "<|content_model_end_sampling|>"),
    "anywhere",
)
INKLING_NOISE = (_END, "<|content_model_end_sampling|>", *_SPOKEN)


def _read_inkling(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    author = ""
    if mark == _MODEL:
        author, mark = yield from within(tape, _HEADER_ENDS, _LONGEST)
        if mark != _TOOL_JSON:
            return Found(text=author if not mark or mark in _MESSAGE_ENDS else "")
        tape.take(len(mark))
        yield from space(tape)
    return (yield from _payload(tape, author.strip(), offer))


def _payload(tape: Tape, author: str, offer: Offer) -> Reading[Found | None]:
    """A call; `author` is the tool it is for where the JSON doesn't say so."""
    start, ending = tape.place(), "broken"
    if (yield from peek(tape)) == "{":
        ending = yield from take_value(tape, tape.take(1), _MESSAGE_ENDS)
    if ending == "broken":
        yield from until(tape, _PAYLOAD_ENDS)
    raw = tape.since(start)
    found = (calls_in_cut if ending == "cut" else calls_in_text)(raw, offer)
    if found is not None or not author or not offer.heeds((author,)):
        return found
    return Found((Written("", author, raw, cut=ending == "cut"),))


INKLING = Form((_MODEL, _TOOL_JSON), _read_inkling, place="anywhere")

_FUNCTION_CALL, _MESSAGE_SEP, _ROLE_SEP = "<|function_call|>", "<|message_sep|>", "<|role_sep|>"
_ROLE_ENDS = Markers((_ROLE_SEP, _MESSAGE_SEP))

GIGACHAT_NOISE = ("</s>", _ROLE_SEP)


def _read_gigachat(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    if mark == _MESSAGE_SEP:
        role, mark = yield from within(tape, _ROLE_ENDS, _LONGEST)
        if mark != _ROLE_SEP:
            return Found(text=role)
        tape.take(len(mark))
        yield from space(tape)
        if role.strip() != "function call":
            return Found()
    if (yield from peek(tape)) != "{":
        return None
    start = tape.place()
    ending = yield from take_value(tape, tape.take(1), (_MESSAGE_SEP,))
    raw = tape.since(start)
    return calls_in_cut(raw, offer) if ending == "cut" else _with_arguments(raw, offer)


def _with_arguments(raw: str, offer: Offer) -> Found | None:
    """The call that an object is, if it has arguments: without them, it may be anything."""
    outcome = mend.read_json(raw)
    if isinstance(outcome, mend.Read) and not isinstance(outcome.value.get("arguments"), dict | str):
        return None
    return calls_in_text(raw, offer)


GIGACHAT = Form((_FUNCTION_CALL, _MESSAGE_SEP), _read_gigachat, place="anywhere")


def _spell_inkling(calls: Sequence[Call]) -> str:
    return "".join(
        f"{_MODEL}{call.name}{_TOOL_JSON}{json_text({'name': call.name, 'args': call.arguments})}{_END}" for call in calls
    )


FORMS = (ACTIONS, INKLING, GIGACHAT)

_COHERE = Spelling("<|START_ACTION|>", "<|END_ACTION|>", listed=True, keys=("tool_name", "parameters"))
_GIGACHAT = Spelling(f"{_MESSAGE_SEP}\n\nfunction call{_ROLE_SEP}\n", between="")
_COHERE_LESSON = lesson(_COHERE.spell, listed=True)

_ROWS = (
    TextDialect("cohere_cmd3", (ACTIONS,), _COHERE_LESSON, _COHERE.spell, (COHERE_THINKING,), COHERE_NOISE),
    TextDialect("cohere_cmd4", (ACTIONS,), _COHERE_LESSON, _COHERE.spell, (COHERE_THINKING,), COHERE_NOISE),
    TextDialect("inkling", (INKLING,), lesson(_spell_inkling), _spell_inkling, (INKLING_THINKING,), INKLING_NOISE),
    TextDialect("gigachat3_json", (GIGACHAT,), lesson(_GIGACHAT.spell), _GIGACHAT.spell, noise=GIGACHAT_NOISE),
)
DIALECTS = {row.name: row for row in _ROWS}
