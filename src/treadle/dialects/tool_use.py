"""Calls as elements: `<tool_use><tool>name</tool><args><key>value</key></args></tool_use>`, values typed by the tool's schema.

A value is raw text, one line break on each side being layout. Entities in it are decoded where nothing in it is markup, CDATA is
taken out of its wrapping. An element may come several times, which makes a list; `<args>` may hold a JSON object instead.
"""

import re
from collections.abc import Sequence
from typing import Any

from treadle.core.calls import Call, Written
from treadle.dialects import mend
from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import Ending, take_value
from treadle.dialects.forms import Form, Found, Offer, closed, json_text
from treadle.dialects.scan import Markers, Reading, Tape, ahead, peek, run, space, took, until
from treadle.dialects.typed import values_of

_OPEN, _CLOSE = "<tool_use>", "</tool_use>"
_NAME_TAGS = ("tool", "name", "tool_name")
_ARGUMENT_TAGS = ("args", "arguments", "parameters")
_ARGUMENT_ENDS = tuple(f"</{tag}>" for tag in _ARGUMENT_TAGS)
_ENDS = (*_ARGUMENT_ENDS, _CLOSE)
_WORD = re.compile(r"[\w.:-]+")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_LAYOUT = re.compile(r"\r?\n[ \t]*\Z")
_ENTITY = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def _read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    name = yield from _name(tape)
    if not name or not offer.heeds((name,)):
        return None
    text, ending = yield from _arguments(tape, name, offer)
    if ending == "cut":
        return Found((Written("", name, text, cut=True),))
    yield from space(tape)
    if ending == "broken" or not (yield from closed(tape, _OPEN, _CLOSE)):
        return None
    return Found((Written("", name, text),))


def _name(tape: Tape) -> Reading[str]:
    tag = yield from _one_of(tape, _NAME_TAGS)
    if not tag:
        return ""
    name, mark = yield from until(tape, Markers((f"</{tag}>",)))
    tape.take(len(mark))
    return name.strip() if mark else ""


def _one_of(tape: Tape, tags: tuple[str, ...]) -> Reading[str]:
    for tag in tags:
        if (yield from took(tape, f"<{tag}>")):
            return tag
    return ""


def _arguments(tape: Tape, name: str, offer: Offer) -> Reading[tuple[str, Ending]]:
    """The arguments as JSON text, and how they end. None at all are an empty object, if the frame goes on."""
    yield from space(tape)
    tag = yield from _one_of(tape, _ARGUMENT_TAGS)
    if not tag:
        yield from _one_of(tape, tuple(f"{tag}/" for tag in _ARGUMENT_TAGS))
        return "{}", "whole" if (yield from peek(tape)) else "cut"
    yield from space(tape)
    if (yield from peek(tape)) == "{":
        return (yield from _json(tape, f"</{tag}>"))
    raw, ending = yield from _elements(tape)
    return json_text(_typed(raw, name, offer)), ending


def _json(tape: Tape, end: str) -> Reading[tuple[str, Ending]]:
    start = tape.place()
    ending = yield from take_value(tape, tape.take(1))
    text = tape.since(start)
    yield from space(tape)
    yield from took(tape, end)
    outcome = mend.read_object(text)
    return json_text(outcome.value) if isinstance(outcome, mend.Read) else text, ending


def _elements(tape: Tape) -> Reading[tuple[dict[str, list[str]], Ending]]:
    """The raw texts by name. The reply may end after one of them, but neither inside one nor before the first."""
    raw: dict[str, list[str]] = {}
    while True:
        yield from space(tape)
        ending = yield from _ending(tape)
        if ending:
            return raw, "whole" if raw else ending
        element = yield from _element(tape)
        if isinstance(element, str):
            return raw, element
        raw.setdefault(element[0], []).append(_unwrapped(element[1]))


def _ending(tape: Tape) -> Reading[Ending | None]:
    """How the arguments end here, if they do: whole by a tag, cut with the reply."""
    for end in _ARGUMENT_ENDS:
        if (yield from took(tape, end)):
            return "whole"
    if (yield from ahead(tape, _CLOSE)):
        return "whole"
    rest = tape.window[tape.at : tape.at + len(_CLOSE)]
    if not tape.ended or not any(end.startswith(rest) for end in _ENDS):
        return None
    tape.take(len(rest))
    return "cut"


def _element(tape: Tape) -> Reading[tuple[str, str] | Ending]:
    if not (yield from took(tape, "<")):
        return "broken"
    key = yield from run(tape, _WORD)
    if key and (yield from took(tape, "/>")):
        return key, ""
    if not key or not (yield from took(tape, ">")):
        return "broken" if (yield from peek(tape)) else "cut"
    value = yield from _value(tape, key)
    return "cut" if value is None else (key, value)


def _value(tape: Tape, key: str) -> Reading[str | None]:
    """The raw text up to the tag that closes it; None where the reply ends first. The same tags in pairs inside it are text."""
    tags, parts, depth = Markers((f"<{key}>", f"</{key}>")), list[str](), 1
    while True:
        text, mark = yield from until(tape, tags)
        parts.append(text)
        if not mark:
            return None
        tape.take(len(mark))
        depth += 1 if mark[1] != "/" else -1
        gap = yield from space(tape)
        if mark[1] == "/" and (yield from _goes_on(tape, balanced=depth <= 0)):
            return "".join(parts)
        parts += (mark, gap)


def _goes_on(tape: Tape, *, balanced: bool) -> Reading[bool]:
    """Whether what comes next may follow a value: the end of the arguments, or another element where all inside was in pairs."""
    following = yield from peek(tape)
    if following != "<":
        return not following
    for end in _ENDS:
        if (yield from ahead(tape, end)):
            return True
    return balanced


def _unwrapped(raw: str) -> str:
    """A value without its layout, its CDATA or its entities."""
    stripped = raw.strip()
    if stripped.startswith(_CDATA) and stripped.endswith(_CDATA_END):
        return stripped[len(_CDATA) : -len(_CDATA_END)]
    text = _LAYOUT.sub("", raw.removeprefix("\r").removeprefix("\n"))
    if "<" in text or len(_ENTITY.findall(text)) < text.count("&"):
        return text
    return _ENTITY.sub(_character, text)


def _character(entity: re.Match[str]) -> str:
    name, decimal, hexadecimal = entity.groups()
    code = int(decimal) if decimal else int(hexadecimal or "0", 16)
    return _ENTITIES[name] if name else chr(code) if code <= 0x10FFFF else entity.group()


def _typed(raw: dict[str, list[str]], name: str, offer: Offer) -> dict[str, Any]:
    properties, root = offer.properties(name), offer.schema(name)
    return {key: values_of(texts, properties.get(key) or {}, root) for key, texts in raw.items()}


TOOL_USE = Form((_OPEN,), _read, then="<", close=_CLOSE, fences=("", "xml", "tool_use"))

_LESSON = """\
To call a tool, write this, with an element for each argument:
<tool_use><tool>TOOL</tool><args><ARGUMENT>VALUE</ARGUMENT></args></tool_use>
Write one such block for each call, on a line of its own and outside of code blocks. Values are plain text: escape nothing."""


def _spell(calls: Sequence[Call]) -> str:
    return "\n".join(f"{_OPEN}<tool>{call.name}</tool><args>{_spelled(call.arguments)}</args>{_CLOSE}" for call in calls)


def _spelled(arguments: dict[str, Any]) -> str:
    """An element for each argument, or JSON where not all of their names are such as elements have."""
    if not all(_WORD.fullmatch(key) for key in arguments):
        return json_text(arguments)
    return "".join(f"<{key}>{_raw(key, value)}</{key}>" for key, value in arguments.items())


def _raw(key: str, value: object) -> str:
    """A value as text that reads as nothing but itself: with layout where it has some, with entities where that can't be helped."""
    text = value if isinstance(value, str) else json_text(value)
    if f"{key}>" in text or _CDATA in text or ("&" in text and "<" not in text) or text[-1:] == "\r":
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")
    return text if text == text.strip() else f"\n{text}\n"


DIALECTS = {"own_xml_tool_use": TextDialect("own_xml_tool_use", (TOOL_USE,), _LESSON, _spell)}
