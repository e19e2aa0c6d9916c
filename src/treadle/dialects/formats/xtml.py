"""Calls of Kimi K3: `<|open|>call tool="ls"<|sep|>…<|close|>call<|sep|>`, each argument in an element that states its type.

Attributes are escaped, bodies are raw text. Text stands in a `response` element, thinking in a `think` element.
"""

import re
from collections.abc import Sequence

import msgspec

from treadle.core.calls import Call, Written
from treadle.dialects.argument_values import convert_value
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import CallMatch, Form, OfferedTools, ThinkingFrame, to_json_text
from treadle.dialects.scanner import Markers, Reading, Tape, is_next, peek, take_if_next, take_space, take_until, take_until_within

_OPEN, _CLOSE, _SEP = "<|open|>", "<|close|>", "<|sep|>"
_ARGUMENT_END = f"{_CLOSE}argument{_SEP}"
_SEPARATOR = Markers((_SEP,))
_ELEMENT = Markers((_OPEN, _CLOSE))
_VALUE_ENDS = Markers((_ARGUMENT_END,))
_MAX_TAG = 1000  # no tag has more characters
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_ENTITIES = {"&quot;": '"', "&apos;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))

THINK = ThinkingFrame(f"{_OPEN}think{_SEP}", f"{_CLOSE}think{_SEP}", (f"{_OPEN}response{_SEP}", f"{_OPEN}tools{_SEP}"), "anywhere")

_Tag = tuple[str, dict[str, str]]


def _read_element(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    tag = yield from _read_tag(tape)
    if tag is None:
        return None
    if mark == _CLOSE or tag[0] not in {"tools", "call"}:
        return CallMatch()
    calls = [(yield from _read_call(tape, tag[1], offer))] if tag[0] == "call" else (yield from _read_calls(tape, offer))
    return CallMatch(tuple(calls)) if not calls or offer.heeds(call.name for call in calls) else None


def _read_tag(tape: Tape) -> Reading[_Tag | None]:
    """Read the name and the attributes of an element, even if the reply ends inside it; None if this is no tag."""
    text, mark = yield from take_until_within(tape, _SEPARATOR, _MAX_TAG)
    if not mark and not tape.ended:
        return None
    tape.take(len(mark))
    name, _, attributes = text.strip().partition(" ")
    return name, {key: _ENTITY.sub(_decode_entity, value) for key, value in _ATTRIBUTE.findall(attributes)}


def _decode_entity(entity: re.Match[str]) -> str:
    return _ENTITIES[entity.group()]


def _read_calls(tape: Tape, offer: OfferedTools) -> Reading[list[Written]]:
    """Read the calls up to the end of their element; anything else in it is ignored."""
    calls: list[Written] = []
    while True:
        _, mark = yield from take_until(tape, _ELEMENT)
        tape.take(len(mark))
        name, attributes = (yield from _read_tag(tape)) or ("", {})
        if not mark or (mark == _CLOSE and name == "tools"):
            return calls
        if mark == _OPEN and name == "call":
            calls.append((yield from _read_call(tape, attributes, offer)))


def _read_call(tape: Tape, attributes: dict[str, str], offer: OfferedTools) -> Reading[Written]:
    """Read a call, to its end or to where another begins. It counts once one of its arguments has ended."""
    name, arguments = attributes.get("tool", ""), dict[str, object]()
    while True:
        yield from take_space(tape)
        if (yield from take_if_next(tape, f"{_CLOSE}call{_SEP}")):
            return Written("", name, to_json_text(arguments))
        if not (yield from is_next(tape, f"{_OPEN}argument")):
            break
        tape.take(len(_OPEN))
        _, says = (yield from _read_tag(tape)) or ("", {})
        raw, mark = yield from take_until(tape, _VALUE_ENDS)
        tape.take(len(mark))
        if not mark:
            return Written("", name, to_json_text(arguments), cut=True)
        key = says.get("key", "")
        arguments[key] = _convert(key, raw, says.get("type", ""), name, offer)
    return Written("", name, to_json_text(arguments), cut=not arguments and not (yield from peek(tape)))


def _convert(key: str, raw: str, kind: str, name: str, offer: OfferedTools) -> object:
    """Convert a value by its stated type; by the tool's schema if it states none, or an unknown one."""
    if kind == "string":
        return raw
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return convert_value(raw, offer.properties(name).get(key) or {}, offer.schema(name))


def _spell_calls(calls: Sequence[Call]) -> str:
    return _spell_element("tools", "".join(map(_spell_call, enumerate(calls, 1))))


def _spell_call(numbered: tuple[int, Call]) -> str:
    index, call = numbered
    arguments = [_spell_argument(key, value) for key, value in call.arguments.items()]
    return _spell_element("call", "".join(arguments), tool=call.name, index=str(index))


def _spell_argument(key: str, value: object) -> str:
    text = value if isinstance(value, str) else to_json_text(value)
    return _spell_element("argument", text, key=key, type=_KINDS[type(value)])


def _spell_element(name: str, body: str, **attributes: str) -> str:
    spelled = "".join(f' {key}="{_escape(value)}"' for key, value in attributes.items())
    return f"{_OPEN}{name}{spelled}{_SEP}{body}{_CLOSE}{name}{_SEP}"


def _escape(text: str) -> str:
    for entity, character in reversed(_ENTITIES.items()):
        text = text.replace(character, entity)
    return text


_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}

XTML = Form((_OPEN, _CLOSE), _read_element, place="anywhere")

_LESSON = """\
To call tools, write this, with an element for each call and one for each argument, its type being string, number, boolean, \
null, array or object:
<|open|>tools<|sep|><|open|>call tool="TOOL" index="1"<|sep|><|open|>argument key="ARGUMENT" type="string"<|sep|>VALUE\
<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>
Strings are plain text, other values are JSON."""

DIALECTS = {"kimi_k3_xtml": TextDialect("kimi_k3_xtml", (XTML,), _LESSON, _spell_calls, (THINK,), (_SEP,))}
