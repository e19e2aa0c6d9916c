"""Replies in channels: messages whose header says whom they are for. Harmony writes calls as JSON, Muse as elements.

A header is everything up to `<|message|>`: a role, a channel, a recipient, a format, in any order and not always well formed. A
message to a tool is a call, one to oneself (or in the analysis channel) is thinking, anything else is words.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects import mend
from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Form, Found, Offer, Thought, json_text, shut
from treadle.dialects.scan import Markers, Reading, Tape, ahead, peek, space, took, until, within
from treadle.dialects.typed import kinds_of, resolved, value_of

_START, _CHANNEL, _CONSTRAIN, _MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
_HARMONY_ENDS = ("<|end|>", "<|return|>", "<|call|>")
_MUSE_ENDS = ("<|eom|>", "<|eot|>")
_ENDS = (*_HARMONY_ENDS, *_MUSE_ENDS)
_AFTER_MESSAGE = (*_ENDS, _START, _CHANNEL)
_MARKS = Markers((_MESSAGE, _CONSTRAIN, *_AFTER_MESSAGE, "{"))
_BODY_ENDS = Markers(_AFTER_MESSAGE)
_LONGEST = 300  # no header has more characters
_LONGEST_NAME = 80
_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_ADDRESS = re.compile(r"[^\s<]+")
_NAME = re.compile(r"analysis|commentary|final")
_ROLE = re.compile(r"\s*(?:assistant|user|system|developer|tool)?\s*")
_PEOPLE = ("assistant", "user", "all")
_NAMESPACE = "functions."

ANALYSIS = Thought(f"{_CHANNEL}analysis{_MESSAGE}", "<|end|>", (_START, _CHANNEL, "<|return|>", "<|call|>"), "anywhere")
TO_SELF = Thought(f"to=self{_MESSAGE}", "<|eom|>", ("<|eot|>",), "start")


class _Header(Struct):
    recipient: str = ""
    channel: str = ""
    rest: str = ""  # what is none of these
    end: str = ""  # what comes after it


def _read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    if mark == "to=" and not (yield from _addressed(tape)):
        return None
    header = yield from _header(tape, mark)
    if not header.end and not tape.ended:
        return None  # too long for one
    if header.end == _MESSAGE:
        tape.take(len(_MESSAGE))
    if header.recipient == "self":
        return Found(thought=TO_SELF)
    if header.recipient and header.recipient not in _PEOPLE:
        return (yield from _call(tape, header, offer))
    if header.end != _MESSAGE:
        return Found(text="" if header.rest.isspace() or (tape.ended and "analysis".startswith(header.rest)) else header.rest)
    if header.channel == "analysis":
        return Found(thought=ANALYSIS)
    return Found(plain=_MUSE_ENDS) if header.recipient == "user" and not header.channel else Found()


def _addressed(tape: Tape) -> Reading[bool]:
    """Whether a recipient at the beginning of a reply, where the role is in the prompt, is one. Nothing is taken."""
    at = tape.at
    while True:
        name = _ADDRESS.match(tape.window, at)
        end = at if name is None else name.end()
        tail = tape.window[end : end + 3].lstrip(" ")
        if tail.startswith("<|"):
            return name is not None
        if tape.ended or end - at > _LONGEST_NAME or not "<|".startswith(tail):
            return False
        yield
        at = tape.at


def _header(tape: Tape, mark: str) -> Reading[_Header]:
    """The header that `mark` begins. The JSON of a call ends it as well, since `<|message|>` may be missing."""
    header, room = _Header(), _LONGEST
    while True:
        text, header.end = yield from within(tape, _MARKS, room)
        room -= len(text)
        _add(header, mark, text)
        if header.end not in {_CHANNEL, _CONSTRAIN} and (header.end != "{" or header.recipient):
            return header
        mark = tape.take(len(header.end))
        room -= len(mark)
        if room < 0:
            header.end = ""
            return header


def _add(header: _Header, mark: str, text: str) -> None:
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


def _call(tape: Tape, header: _Header, offer: Offer) -> Reading[Found | None]:
    yield from space(tape)
    name = _without_namespace(header.recipient, offer)
    if (yield from shut(tape, _BLOCK)) or (yield from ahead(tape, _INVOKE)):
        return (yield from _elements(tape, name, offer))
    if not offer.heeds((name,)):
        return None
    start, ending = tape.place(), "broken"
    if (yield from peek(tape)) == "{":
        ending = yield from take_value(tape, tape.take(1), _AFTER_MESSAGE)
    if ending == "broken":
        yield from until(tape, _BODY_ENDS)
    raw = tape.since(start).strip()
    cut = ending == "cut" or (not raw and header.end != _MESSAGE)
    return Found((Written("", name, raw if cut else _arguments(raw), cut=cut),))


def _without_namespace(recipient: str, offer: Offer) -> str:
    """A tool's name by the name it is addressed by: `functions.ls`, or `ls.ls`."""
    if offer.has(recipient):
        return recipient
    name = recipient.removeprefix(_NAMESPACE)
    half, _, other = name.partition(".")
    return half if half == other and (offer.has(half) or offer.empty) else name


def _arguments(raw: str) -> str:
    outcome = mend.read_object(raw)
    return json_text(outcome.value) if isinstance(outcome, mend.Read) else raw


_BLOCK, _BLOCK_END = "<atem:function_calls>", "</atem:function_calls>"
_INVOKE, _INVOKE_END = "<atem:invoke name=", "</atem:invoke>"
_PARAMETER, _PARAMETER_END = "<atem:parameter name=", "</atem:parameter>"
_NAME_ENDS = Markers(('">', _PARAMETER, _INVOKE_END, _BLOCK_END))
_KEY_ENDS = Markers(('">',))
_VALUE_ENDS = Markers((_PARAMETER_END,))
_FOLLOWS = (_PARAMETER, _INVOKE, _INVOKE_END, _BLOCK_END, *_MUSE_ENDS)


def _elements(tape: Tape, recipient: str, offer: Offer) -> Reading[Found | None]:
    """The calls of a block; `recipient` is who it is for if it ends before it says so."""
    calls: list[Written] = []
    while True:
        yield from space(tape)
        if not (yield from took(tape, _INVOKE)):
            break
        calls.append((yield from _invocation(tape, recipient, offer)))
        if calls[-1].cut:
            break
    yield from shut(tape, _BLOCK_END if calls else _INVOKE)
    if not calls and not (yield from peek(tape)):
        calls.append(Written("", recipient, "", cut=True))
    return Found(tuple(calls)) if offer.heeds(call.name for call in calls) else None


def _invocation(tape: Tape, recipient: str, offer: Offer) -> Reading[Written]:
    said, mark = yield from until(tape, _NAME_ENDS)
    name = _without_namespace(said.replace(_MESSAGE, "").strip('"'), offer) if mark else recipient
    yield from took(tape, '">')
    arguments: dict[str, object] = {}
    while True:
        yield from space(tape)
        if not (yield from took(tape, _PARAMETER)):
            break
        key, value = yield from _parameter(tape)
        if value is None:
            return Written("", name, json_text(arguments), cut=True)
        arguments[key] = _typed(key, value, name, offer)
    closed = (yield from ahead(tape, _INVOKE_END)) or bool(arguments)
    yield from shut(tape, _INVOKE_END)
    begun = yield from shut(tape, _PARAMETER)
    return Written("", name, json_text(arguments), cut=begun or not (closed or (yield from peek(tape))))


def _parameter(tape: Tape) -> Reading[tuple[str, str | None]]:
    """The name and the raw text of a parameter; none where the reply ends inside it."""
    key, _ = yield from until(tape, _KEY_ENDS)
    yield from took(tape, '">')
    parts: list[str] = []
    while True:
        text, mark = yield from until(tape, _VALUE_ENDS)
        parts.append(text)
        if not mark:
            return key.strip('"'), None
        tape.take(len(mark))
        gap = yield from space(tape)
        if (yield from _follows(tape)):
            return key.strip('"'), "".join(parts)
        parts += (mark, gap)


def _follows(tape: Tape) -> Reading[bool]:
    """Whether what comes next may follow a parameter."""
    for mark in _FOLLOWS:
        if (yield from ahead(tape, mark)):
            return True
    rest = tape.window[tape.at :] if tape.ended else " "
    return any(mark.startswith(rest) for mark in _FOLLOWS)


def _typed(key: str, raw: str, name: str, offer: Offer) -> object:
    """A value by its schema; without one, JSON where it is JSON."""
    root = offer.schema(name)
    schema = resolved(offer.properties(name).get(key) or {}, root)
    if kinds_of(schema, root) or "enum" in schema:
        return value_of(raw, schema, root)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return raw


def _spell_harmony(calls: Sequence[Call]) -> str:
    return f"{_START}assistant".join(
        f"{_CHANNEL}commentary to={_NAMESPACE}{call.name} {_CONSTRAIN}json{_MESSAGE}{json_text(call.arguments)}<|call|>"
        for call in calls
    )


def _spell_muse(calls: Sequence[Call]) -> str:
    return "<|eom|>".join(f"{_START}assistant to={call.name}{_MESSAGE}{_spelled_invocation(call)}" for call in calls) + "<|eot|>"


def _spelled_invocation(call: Call) -> str:
    texts = {key: value if isinstance(value, str) else json_text(value) for key, value in call.arguments.items()}
    lines = [f'{_PARAMETER}"{key}">{text}{_PARAMETER_END}' for key, text in texts.items()]
    return "\n".join([_BLOCK, f'{_INVOKE}"{call.name}">', *lines, _INVOKE_END, _BLOCK_END])


CHANNELS = Form((_START, _CHANNEL), _read, place="anywhere")
ADDRESS = Form(("to=",), _read, place="start")
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
