"""Calls as JSON in replies made of marked messages: Cohere's actions, Inkling's tool messages, GigaChat's function calls."""

from collections.abc import Sequence

from treadle.core.calls import Call, Written
from treadle.dialects import json_repair
from treadle.dialects.dialect import TextDialect
from treadle.dialects.formats.tagged_json import JsonFrame, json_form
from treadle.dialects.forms import CallMatch, Form, OfferedTools, ThinkingFrame, to_json_text
from treadle.dialects.json_calls import JsonSpelling, calls_in_cut, calls_in_text, json_lesson
from treadle.dialects.scanner import Markers, Reading, Tape, peek, take_space, take_until, take_until_within, take_value

_MAX_HEADER = 300  # no header of a message has more characters

ACTIONS = json_form(JsonFrame("<|START_ACTION|>", "<|END_ACTION|>"))
COHERE_THINKING = ThinkingFrame(
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
_TEXT_MARKS = ("<|content_text|>", "<|content_invoke_tool_text|>", "<|content_tool_error|>")
_MESSAGE_ENDS = (_END, "<|content_model_end_sampling|>", _MODEL)
_PAYLOAD_ENDS = Markers(_MESSAGE_ENDS)
_HEADER_ENDS = Markers((*_MESSAGE_ENDS, _TOOL_JSON, "<|content_thinking|>", *_TEXT_MARKS))

INKLING_THINKING = ThinkingFrame(
    "<|content_thinking|>",
    _END,
    (_MODEL, _TOOL_JSON, "<|content_text|>", "<|content_model_end_sampling|>"),
    "anywhere",
)
INKLING_NOISE = (_END, "<|content_model_end_sampling|>", *_TEXT_MARKS)


def _read_inkling(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    author = ""
    if mark == _MODEL:
        author, mark = yield from take_until_within(tape, _HEADER_ENDS, _MAX_HEADER)
        if mark != _TOOL_JSON:
            return CallMatch(text=author if not mark or mark in _MESSAGE_ENDS else "")
        tape.take(len(mark))
        yield from take_space(tape)
    return (yield from _read_payload(tape, author.strip(), offer))


def _read_payload(tape: Tape, author: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    """Read a call; `author` is its tool if the JSON doesn't name one."""
    start, ending = tape.place(), "broken"
    if (yield from peek(tape)) == "{":
        ending = yield from take_value(tape, tape.take(1), _MESSAGE_ENDS)
    if ending == "broken":
        yield from take_until(tape, _PAYLOAD_ENDS)
    raw = tape.held_since(start)
    found = (calls_in_cut if ending == "cut" else calls_in_text)(raw, offer)
    if found is not None or not author or not offer.heeds((author,)):
        return found
    return CallMatch((Written("", author, raw, cut=ending == "cut"),))


INKLING = Form((_MODEL, _TOOL_JSON), _read_inkling, place="anywhere")

_FUNCTION_CALL, _MESSAGE_SEP, _ROLE_SEP = "<|function_call|>", "<|message_sep|>", "<|role_sep|>"
_ROLE_ENDS = Markers((_ROLE_SEP, _MESSAGE_SEP))

GIGACHAT_NOISE = ("</s>", _ROLE_SEP)


def _read_gigachat(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    if mark == _MESSAGE_SEP:
        role, mark = yield from take_until_within(tape, _ROLE_ENDS, _MAX_HEADER)
        if mark != _ROLE_SEP:
            return CallMatch(text=role)
        tape.take(len(mark))
        yield from take_space(tape)
        if role.strip() != "function call":
            return CallMatch()
    if (yield from peek(tape)) != "{":
        return None
    start = tape.place()
    ending = yield from take_value(tape, tape.take(1), (_MESSAGE_SEP,))
    raw = tape.held_since(start)
    return calls_in_cut(raw, offer) if ending == "cut" else _match_with_arguments(raw, offer)


def _match_with_arguments(raw: str, offer: OfferedTools) -> CallMatch | None:
    """Return the call in an object, if it has arguments: without them it may be any object."""
    outcome = json_repair.read_json(raw)
    if isinstance(outcome, json_repair.JsonRead) and not isinstance(outcome.value.get("arguments"), dict | str):
        return None
    return calls_in_text(raw, offer)


GIGACHAT = Form((_FUNCTION_CALL, _MESSAGE_SEP), _read_gigachat, place="anywhere")


def _spell_inkling(calls: Sequence[Call]) -> str:
    return "".join(
        f"{_MODEL}{call.name}{_TOOL_JSON}{to_json_text({'name': call.name, 'args': call.arguments})}{_END}" for call in calls
    )


FORMS = (ACTIONS, INKLING, GIGACHAT)

_COHERE = JsonSpelling("<|START_ACTION|>", "<|END_ACTION|>", listed=True, keys=("tool_name", "parameters"))
_GIGACHAT = JsonSpelling(f"{_MESSAGE_SEP}\n\nfunction call{_ROLE_SEP}\n", between="")
_COHERE_LESSON = json_lesson(_COHERE.spell, listed=True)

_ROWS = (
    TextDialect("cohere_cmd3", (ACTIONS,), _COHERE_LESSON, _COHERE.spell, (COHERE_THINKING,), COHERE_NOISE),
    TextDialect("cohere_cmd4", (ACTIONS,), _COHERE_LESSON, _COHERE.spell, (COHERE_THINKING,), COHERE_NOISE),
    TextDialect("inkling", (INKLING,), json_lesson(_spell_inkling), _spell_inkling, (INKLING_THINKING,), INKLING_NOISE),
    TextDialect("gigachat3_json", (GIGACHAT,), json_lesson(_GIGACHAT.spell), _GIGACHAT.spell, noise=GIGACHAT_NOISE),
)
DIALECTS = {row.name: row for row in _ROWS}
