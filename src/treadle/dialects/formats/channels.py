"""Replies in channels: messages whose header names the recipient. Harmony writes calls as JSON, Muse as elements.

A header is everything up to `<|message|>`: a role, a channel, a recipient, a format, in any order and not always well formed.
A message to a tool is a call, one to the model itself (or in the analysis channel) is thinking, anything else is text.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects import json_repair
from treadle.dialects.argument_values import convert_value, resolve_reference, schema_types
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import CallMatch, Form, OfferedTools, ThinkingFrame, take_closer, to_json_text
from treadle.dialects.scanner import (
    Markers,
    Reading,
    Tape,
    is_next,
    peek,
    take_if_next,
    take_space,
    take_until,
    take_until_within,
    take_value,
)

_START, _CHANNEL, _CONSTRAIN, _MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
_HARMONY_ENDS = ("<|end|>", "<|return|>", "<|call|>")
_MUSE_ENDS = ("<|eom|>", "<|eot|>")
_ENDS = (*_HARMONY_ENDS, *_MUSE_ENDS)
_AFTER_MESSAGE = (*_ENDS, _START, _CHANNEL)
_MARKS = Markers((_MESSAGE, _CONSTRAIN, *_AFTER_MESSAGE, "{"))
_BODY_ENDS = Markers(_AFTER_MESSAGE)
_MAX_HEADER = 300  # no header has more characters
_MAX_NAME = 80
_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_ADDRESS = re.compile(r"[^\s<]+")
_NAME = re.compile(r"analysis|commentary|final")
_ROLE = re.compile(r"\s*(?:assistant|user|system|developer|tool)?\s*")
_NON_TOOL_RECIPIENTS = ("assistant", "user", "all")
_NAMESPACE = "functions."

ANALYSIS = ThinkingFrame(f"{_CHANNEL}analysis{_MESSAGE}", "<|end|>", (_START, _CHANNEL, "<|return|>", "<|call|>"), "anywhere")
TO_SELF = ThinkingFrame(f"to=self{_MESSAGE}", "<|eom|>", ("<|eot|>",), "start")


class _Header(Struct):
    recipient: str = ""
    channel: str = ""
    rest: str = ""  # what is none of these
    end: str = ""  # what comes after it


def _read_message(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    if mark == "to=" and not (yield from _is_recipient(tape)):
        return None
    header = yield from _read_header(tape, mark)
    if not header.end and not tape.ended:
        return None  # too long for one
    if header.end == _MESSAGE:
        tape.take(len(_MESSAGE))
    if header.recipient == "self":
        return CallMatch(thought=TO_SELF)
    if header.recipient and header.recipient not in _NON_TOOL_RECIPIENTS:
        return (yield from _read_call(tape, header, offer))
    if header.end != _MESSAGE:
        return CallMatch(text="" if header.rest.isspace() or (tape.ended and "analysis".startswith(header.rest)) else header.rest)
    if header.channel == "analysis":
        return CallMatch(thought=ANALYSIS)
    return CallMatch(plain=_MUSE_ENDS) if header.recipient == "user" and not header.channel else CallMatch()


def _is_recipient(tape: Tape) -> Reading[bool]:
    """Return whether a reply begins with a recipient, the role being in the prompt. Takes nothing."""
    at = tape.at
    while True:
        name = _ADDRESS.match(tape.window, at)
        end = at if name is None else name.end()
        tail = tape.window[end : end + 3].lstrip(" ")
        if tail.startswith("<|"):
            return name is not None
        if tape.ended or end - at > _MAX_NAME or not "<|".startswith(tail):
            return False
        yield
        at = tape.at


def _read_header(tape: Tape, mark: str) -> Reading[_Header]:
    """Read the header that `mark` begins. The JSON of a call ends it as well, since `<|message|>` may be missing."""
    header, room = _Header(), _MAX_HEADER
    while True:
        text, header.end = yield from take_until_within(tape, _MARKS, room)
        room -= len(text)
        _add_to_header(header, mark, text)
        if header.end not in {_CHANNEL, _CONSTRAIN} and (header.end != "{" or header.recipient):
            return header
        mark = tape.take(len(header.end))
        room -= len(mark)
        if room < 0:
            header.end = ""
            return header


def _add_to_header(header: _Header, mark: str, text: str) -> None:
    recipient = _RECIPIENT.search("to=" + text if mark == "to=" else text)
    if recipient is not None:
        header.recipient = recipient.group(1)
    name = _NAME.search(text) if mark == _CHANNEL else None
    if name is not None:
        header.channel = name.group()
    if mark == _CHANNEL:
        header.rest = _RECIPIENT.sub("", text[name.end() :] if name else text)
    elif mark == _START:
        header.rest = _RECIPIENT.sub("", _ROLE.sub("", text, count=1))
    elif mark == "{":
        header.rest += mark + text


def _read_call(tape: Tape, header: _Header, offer: OfferedTools) -> Reading[CallMatch | None]:
    yield from take_space(tape)
    name = _strip_namespace(header.recipient, offer)
    if (yield from take_closer(tape, _BLOCK)) or (yield from is_next(tape, _INVOKE)):
        return (yield from _read_elements(tape, name, offer))
    if not offer.heeds((name,)):
        return None
    start, ending = tape.place(), "broken"
    if (yield from peek(tape)) == "{":
        ending = yield from take_value(tape, tape.take(1), _AFTER_MESSAGE)
    if ending == "broken":
        yield from take_until(tape, _BODY_ENDS)
    raw = tape.held_since(start).strip()
    cut = ending == "cut" or (not raw and header.end != _MESSAGE)
    return CallMatch((Written("", name, raw if cut else _normalize_arguments(raw), cut=cut),))


def _strip_namespace(recipient: str, offer: OfferedTools) -> str:
    """Return a tool's name without the namespace it is addressed by: `functions.ls`, or `ls.ls`."""
    if offer.has(recipient):
        return recipient
    name = recipient.removeprefix(_NAMESPACE)
    half, _, other = name.partition(".")
    return half if half == other and (offer.has(half) or offer.empty) else name


def _normalize_arguments(raw: str) -> str:
    outcome = json_repair.read_object(raw)
    return to_json_text(outcome.value) if isinstance(outcome, json_repair.JsonRead) else raw


_BLOCK, _BLOCK_END = "<atem:function_calls>", "</atem:function_calls>"
_INVOKE, _INVOKE_END = "<atem:invoke name=", "</atem:invoke>"
_PARAMETER, _PARAMETER_END = "<atem:parameter name=", "</atem:parameter>"
_NAME_ENDS = Markers(('">', _PARAMETER, _INVOKE_END, _BLOCK_END))
_KEY_ENDS = Markers(('">',))
_VALUE_ENDS = Markers((_PARAMETER_END,))
_FOLLOWS = (_PARAMETER, _INVOKE, _INVOKE_END, _BLOCK_END, *_MUSE_ENDS)


def _read_elements(tape: Tape, recipient: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    """Read the calls of a block; `recipient` is the tool if the block ends before it names one."""
    calls: list[Written] = []
    while True:
        yield from take_space(tape)
        if not (yield from take_if_next(tape, _INVOKE)):
            break
        calls.append((yield from _read_invocation(tape, recipient, offer)))
        if calls[-1].cut:
            break
    yield from take_closer(tape, _BLOCK_END if calls else _INVOKE)
    if not calls and not (yield from peek(tape)):
        calls.append(Written("", recipient, "", cut=True))
    return CallMatch(tuple(calls)) if offer.heeds(call.name for call in calls) else None


def _read_invocation(tape: Tape, recipient: str, offer: OfferedTools) -> Reading[Written]:
    said, mark = yield from take_until(tape, _NAME_ENDS)
    name = _strip_namespace(said.replace(_MESSAGE, "").strip('"'), offer) if mark else recipient
    yield from take_if_next(tape, '">')
    arguments: dict[str, object] = {}
    while True:
        yield from take_space(tape)
        if not (yield from take_if_next(tape, _PARAMETER)):
            break
        key, value = yield from _read_parameter(tape)
        if value is None:
            return Written("", name, to_json_text(arguments), cut=True)
        arguments[key] = _convert(key, value, name, offer)
    closed = (yield from is_next(tape, _INVOKE_END)) or bool(arguments)
    yield from take_closer(tape, _INVOKE_END)
    begun = yield from take_closer(tape, _PARAMETER)
    return Written("", name, to_json_text(arguments), cut=begun or not (closed or (yield from peek(tape))))


def _read_parameter(tape: Tape) -> Reading[tuple[str, str | None]]:
    """Read the name and the raw text of a parameter; the text is None if the reply ends inside it."""
    key, _ = yield from take_until(tape, _KEY_ENDS)
    yield from take_if_next(tape, '">')
    parts: list[str] = []
    while True:
        text, mark = yield from take_until(tape, _VALUE_ENDS)
        parts.append(text)
        if not mark:
            return key.strip('"'), None
        tape.take(len(mark))
        gap = yield from take_space(tape)
        if (yield from _may_follow_parameter(tape)):
            return key.strip('"'), "".join(parts)
        parts += (mark, gap)


def _may_follow_parameter(tape: Tape) -> Reading[bool]:
    """Return whether the next text may follow a parameter."""
    for mark in _FOLLOWS:
        if (yield from is_next(tape, mark)):
            return True
    rest = tape.window[tape.at :] if tape.ended else " "
    return any(mark.startswith(rest) for mark in _FOLLOWS)


def _convert(key: str, raw: str, name: str, offer: OfferedTools) -> object:
    """Convert a value by its schema; without one, parse JSON where it is JSON."""
    root = offer.schema(name)
    schema = resolve_reference(offer.properties(name).get(key) or {}, root)
    if schema_types(schema, root) or "enum" in schema:
        return convert_value(raw, schema, root)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return raw


def _spell_harmony(calls: Sequence[Call]) -> str:
    return f"{_START}assistant".join(
        f"{_CHANNEL}commentary to={_NAMESPACE}{call.name} {_CONSTRAIN}json{_MESSAGE}{to_json_text(call.arguments)}<|call|>"
        for call in calls
    )


def _spell_muse(calls: Sequence[Call]) -> str:
    return "<|eom|>".join(f"{_START}assistant to={call.name}{_MESSAGE}{_spell_invocation(call)}" for call in calls) + "<|eot|>"


def _spell_invocation(call: Call) -> str:
    texts = {key: value if isinstance(value, str) else to_json_text(value) for key, value in call.arguments.items()}
    lines = [f'{_PARAMETER}"{key}">{text}{_PARAMETER_END}' for key, text in texts.items()]
    return "\n".join([_BLOCK, f'{_INVOKE}"{call.name}">', *lines, _INVOKE_END, _BLOCK_END])


CHANNELS = Form((_START, _CHANNEL), _read_message, place="anywhere")
ADDRESS = Form(("to=",), _read_message, place="start")
FORMS = (CHANNELS, ADDRESS)
THOUGHTS = (ANALYSIS, TO_SELF)
NOISE = (*_ENDS, _MESSAGE, _CONSTRAIN)

_HARMONY_LESSON = """\
To call a tool, write its arguments as JSON in a message of the commentary channel that is for that tool:
<|channel|>commentary to=functions.TOOL <|constrain|>json<|message|>{"ARGUMENT": "VALUE"}<|call|>
Write one such message for each call."""

_MUSE_LESSON = """\
To call a tool, write a message that is for that tool, with an element for each argument:
<|start|>assistant to=TOOL<|message|><atem:function_calls>
<atem:invoke name="TOOL">
<atem:parameter name="ARGUMENT">VALUE</atem:parameter>
</atem:invoke>
</atem:function_calls><|eot|>
Write one such message for each call. Values are plain text: escape nothing."""

DIALECTS = {
    "harmony": TextDialect("harmony", FORMS, _HARMONY_LESSON, _spell_harmony, THOUGHTS, NOISE),
    "muse_glimmer_atem": TextDialect("muse_glimmer_atem", FORMS, _MUSE_LESSON, _spell_muse, THOUGHTS, NOISE),
}
