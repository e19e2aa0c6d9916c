"""Calls of Kimi K3: `<|open|>call tool="ls"<|sep|>…<|close|>call<|sep|>`, each argument in an element that says its type.

Attributes are escaped, bodies are raw text. Words stand in a `response` element, thinking in a `think` one.
"""

import re
from collections.abc import Sequence

import msgspec

from treadle.core.calls import Call, Written
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import Form, Found, Offer, Thought, json_text
from treadle.dialects.scan import Markers, Reading, Tape, ahead, peek, space, took, until, within
from treadle.dialects.typed import value_of

_OPEN, _CLOSE, _SEP = "<|open|>", "<|close|>", "<|sep|>"
_ARGUMENT_END = f"{_CLOSE}argument{_SEP}"
_SEPARATOR = Markers((_SEP,))
_ELEMENT = Markers((_OPEN, _CLOSE))
_VALUE_ENDS = Markers((_ARGUMENT_END,))
_LONGEST = 1000  # no tag has more characters
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_ENTITIES = {"&quot;": '"', "&apos;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))

THINK = Thought(f"{_OPEN}think{_SEP}", f"{_CLOSE}think{_SEP}", (f"{_OPEN}response{_SEP}", f"{_OPEN}tools{_SEP}"), "anywhere")

_Tag = tuple[str, dict[str, str]]


def _read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    tag = yield from _tag(tape)
    if tag is None:
        return None
    if mark == _CLOSE or tag[0] not in {"tools", "call"}:
        return Found()
    calls = [(yield from _call(tape, tag[1], offer))] if tag[0] == "call" else (yield from _calls(tape, offer))
    return Found(tuple(calls)) if not calls or offer.heeds(call.name for call in calls) else None


def _tag(tape: Tape) -> Reading[_Tag | None]:
    """The name and the attributes of an element, the reply ending inside it or not; None where this is no tag."""
    text, mark = yield from within(tape, _SEPARATOR, _LONGEST)
    if not mark and not tape.ended:
        return None
    tape.take(len(mark))
    name, _, attributes = text.strip().partition(" ")
    return name, {key: _ENTITY.sub(_character, value) for key, value in _ATTRIBUTE.findall(attributes)}


def _character(entity: re.Match[str]) -> str:
    return _ENTITIES[entity.group()]


def _calls(tape: Tape, offer: Offer) -> Reading[list[Written]]:
    """The calls up to the end of their element; whatever else is in it says nothing."""
    calls: list[Written] = []
    while True:
        _, mark = yield from until(tape, _ELEMENT)
        tape.take(len(mark))
        name, attributes = (yield from _tag(tape)) or ("", {})
        if not mark or (mark == _CLOSE and name == "tools"):
            return calls
        if mark == _OPEN and name == "call":
            calls.append((yield from _call(tape, attributes, offer)))


def _call(tape: Tape, attributes: dict[str, str], offer: Offer) -> Reading[Written]:
    """A call, to its end or to where another begins. It counts once one of its arguments has ended."""
    name, arguments = attributes.get("tool", ""), dict[str, object]()
    while True:
        yield from space(tape)
        if (yield from took(tape, f"{_CLOSE}call{_SEP}")):
            return Written("", name, json_text(arguments))
        if not (yield from ahead(tape, f"{_OPEN}argument")):
            break
        tape.take(len(_OPEN))
        _, says = (yield from _tag(tape)) or ("", {})
        raw, mark = yield from until(tape, _VALUE_ENDS)
        tape.take(len(mark))
        if not mark:
            return Written("", name, json_text(arguments), cut=True)
        key = says.get("key", "")
        arguments[key] = _typed(key, raw, says.get("type", ""), name, offer)
    return Written("", name, json_text(arguments), cut=not arguments and not (yield from peek(tape)))


def _typed(key: str, raw: str, kind: str, name: str, offer: Offer) -> object:
    """A value by the type it says; by the tool's schema where it says none, or something else."""
    if kind == "string":
        return raw
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return value_of(raw, offer.properties(name).get(key) or {}, offer.schema(name))


def _spell(calls: Sequence[Call]) -> str:
    return _element("tools", "".join(map(_spelled, enumerate(calls, 1))))


def _spelled(numbered: tuple[int, Call]) -> str:
    index, call = numbered
    arguments = [_spelled_argument(key, value) for key, value in call.arguments.items()]
    return _element("call", "".join(arguments), tool=call.name, index=str(index))


def _spelled_argument(key: str, value: object) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return _element("argument", text, key=key, type=_KINDS[type(value)])


def _element(name: str, body: str, **attributes: str) -> str:
    spelled = "".join(f' {key}="{_escaped(value)}"' for key, value in attributes.items())
    return f"{_OPEN}{name}{spelled}{_SEP}{body}{_CLOSE}{name}{_SEP}"


def _escaped(text: str) -> str:
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

XTML = Form((_OPEN, _CLOSE), _read, place="anywhere")

_LESSON = """\
To call tools, write this, with an element for each call and one for each argument, its type being string, number, boolean, \
null, array or object:
<|open|>tools<|sep|><|open|>call tool="TOOL" index="1"<|sep|><|open|>argument key="ARGUMENT" type="string"<|sep|>VALUE\
<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>
Strings are plain text, other values are JSON."""

DIALECTS = {"kimi_k3_xtml": TextDialect("kimi_k3_xtml", (XTML,), _LESSON, _spell, (THINK,), (_SEP,))}
