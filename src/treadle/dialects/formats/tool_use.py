"""Calls as elements: `<tool_use><tool>name</tool><args><key>value</key></args></tool_use>`, values typed by the tool's schema.

A value is raw text, one line break on each side being layout. Entities in it are decoded if it contains no markup, CDATA is
unwrapped. A repeated element makes a list; `<args>` may hold a JSON object instead.
"""

import re
from collections.abc import Sequence
from typing import Any

from treadle.core.calls import Call, Written
from treadle.dialects import json_repair
from treadle.dialects.argument_values import convert_values
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import CallMatch, Form, OfferedTools, take_frame_end, to_json_text
from treadle.dialects.scanner import (
    JsonEnding,
    Markers,
    Reading,
    Tape,
    is_next,
    peek,
    take_if_next,
    take_run,
    take_space,
    take_until,
    take_value,
)

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


def _read_call(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    name = yield from _read_name(tape)
    if not name or not offer.heeds((name,)):
        return None
    text, ending = yield from _read_arguments(tape, name, offer)
    if ending == "cut":
        return CallMatch((Written("", name, text, cut=True),))
    yield from take_space(tape)
    if ending == "broken" or not (yield from take_frame_end(tape, _OPEN, _CLOSE)):
        return None
    return CallMatch((Written("", name, text),))


def _read_name(tape: Tape) -> Reading[str]:
    tag = yield from _take_one_of(tape, _NAME_TAGS)
    if not tag:
        return ""
    name, mark = yield from take_until(tape, Markers((f"</{tag}>",)))
    tape.take(len(mark))
    return name.strip() if mark else ""


def _take_one_of(tape: Tape, tags: tuple[str, ...]) -> Reading[str]:
    for tag in tags:
        if (yield from take_if_next(tape, f"<{tag}>")):
            return tag
    return ""


def _read_arguments(tape: Tape, name: str, offer: OfferedTools) -> Reading[tuple[str, JsonEnding]]:
    """Read the arguments as JSON text, and how they end. None at all are an empty object, if the frame goes on."""
    yield from take_space(tape)
    tag = yield from _take_one_of(tape, _ARGUMENT_TAGS)
    if not tag:
        yield from _take_one_of(tape, tuple(f"{tag}/" for tag in _ARGUMENT_TAGS))
        return "{}", "whole" if (yield from peek(tape)) else "cut"
    yield from take_space(tape)
    if (yield from peek(tape)) == "{":
        return (yield from _read_json(tape, f"</{tag}>"))
    raw, ending = yield from _read_elements(tape)
    return to_json_text(_convert(raw, name, offer)), ending


def _read_json(tape: Tape, end: str) -> Reading[tuple[str, JsonEnding]]:
    start = tape.place()
    ending = yield from take_value(tape, tape.take(1))
    text = tape.held_since(start)
    yield from take_space(tape)
    yield from take_if_next(tape, end)
    outcome = json_repair.read_object(text)
    return to_json_text(outcome.value) if isinstance(outcome, json_repair.JsonRead) else text, ending


def _read_elements(tape: Tape) -> Reading[tuple[dict[str, list[str]], JsonEnding]]:
    """Read the raw texts by name. The reply may end after one of them, but neither inside one nor before the first."""
    raw: dict[str, list[str]] = {}
    while True:
        yield from take_space(tape)
        ending = yield from _read_ending(tape)
        if ending:
            return raw, "whole" if raw else ending
        element = yield from _read_element(tape)
        if isinstance(element, str):
            return raw, element
        raw.setdefault(element[0], []).append(_clean_value(element[1]))


def _read_ending(tape: Tape) -> Reading[JsonEnding | None]:
    """Return how the arguments end here, if they do: whole by a tag, cut with the reply."""
    for end in _ARGUMENT_ENDS:
        if (yield from take_if_next(tape, end)):
            return "whole"
    if (yield from is_next(tape, _CLOSE)):
        return "whole"
    rest = tape.window[tape.at : tape.at + len(_CLOSE)]
    if not tape.ended or not any(end.startswith(rest) for end in _ENDS):
        return None
    tape.take(len(rest))
    return "cut"


def _read_element(tape: Tape) -> Reading[tuple[str, str] | JsonEnding]:
    if not (yield from take_if_next(tape, "<")):
        return "broken"
    key = yield from take_run(tape, _WORD)
    if key and (yield from take_if_next(tape, "/>")):
        return key, ""
    if not key or not (yield from take_if_next(tape, ">")):
        return "broken" if (yield from peek(tape)) else "cut"
    value = yield from _read_value(tape, key)
    return "cut" if value is None else (key, value)


def _read_value(tape: Tape, key: str) -> Reading[str | None]:
    """Read the raw text up to its closing tag; None if the reply ends first. The same tags in pairs inside it are text."""
    tags, parts, depth = Markers((f"<{key}>", f"</{key}>")), list[str](), 1
    while True:
        text, mark = yield from take_until(tape, tags)
        parts.append(text)
        if not mark:
            return None
        tape.take(len(mark))
        depth += 1 if mark[1] != "/" else -1
        gap = yield from take_space(tape)
        if mark[1] == "/" and (yield from _may_follow_value(tape, balanced=depth <= 0)):
            return "".join(parts)
        parts += (mark, gap)


def _may_follow_value(tape: Tape, *, balanced: bool) -> Reading[bool]:
    """Return whether the next text may follow a value: the end of the arguments, or another element if all inside was in pairs."""
    following = yield from peek(tape)
    if following != "<":
        return not following
    for end in _ENDS:
        if (yield from is_next(tape, end)):
            return True
    return balanced


def _clean_value(raw: str) -> str:
    """Return a value without its layout, CDATA and entities."""
    stripped = raw.strip()
    if stripped.startswith(_CDATA) and stripped.endswith(_CDATA_END):
        return stripped[len(_CDATA) : -len(_CDATA_END)]
    text = _LAYOUT.sub("", raw.removeprefix("\r").removeprefix("\n"))
    if "<" in text or len(_ENTITY.findall(text)) < text.count("&"):
        return text
    return _ENTITY.sub(_decode_entity, text)


def _decode_entity(entity: re.Match[str]) -> str:
    name, decimal, hexadecimal = entity.groups()
    code = int(decimal) if decimal else int(hexadecimal or "0", 16)
    return _ENTITIES[name] if name else chr(code) if code <= 0x10FFFF else entity.group()


def _convert(raw: dict[str, list[str]], name: str, offer: OfferedTools) -> dict[str, Any]:
    properties, root = offer.properties(name), offer.schema(name)
    return {key: convert_values(texts, properties.get(key) or {}, root) for key, texts in raw.items()}


TOOL_USE = Form((_OPEN,), _read_call, then="<", close=_CLOSE, fences=("", "xml", "tool_use"))

_LESSON = """\
To call a tool, write this, with an element for each argument:
<tool_use><tool>TOOL</tool><args><ARGUMENT>VALUE</ARGUMENT></args></tool_use>
Write one such block for each call, on a line of its own and outside of code blocks. Values are plain text: escape nothing."""


def _spell_calls(calls: Sequence[Call]) -> str:
    return "\n".join(f"{_OPEN}<tool>{call.name}</tool><args>{_spell_arguments(call.arguments)}</args>{_CLOSE}" for call in calls)


def _spell_arguments(arguments: dict[str, Any]) -> str:
    """Return an element for each argument, or JSON if not all of their names are valid element names."""
    if not all(_WORD.fullmatch(key) for key in arguments):
        return to_json_text(arguments)
    return "".join(f"<{key}>{_spell_element(key, value)}</{key}>" for key, value in arguments.items())


def _spell_element(key: str, value: object) -> str:
    """Return a value as unambiguous text: with layout if it has some, with entities where they are necessary."""
    text = value if isinstance(value, str) else to_json_text(value)
    if f"{key}>" in text or _CDATA in text or ("&" in text and "<" not in text) or text[-1:] == "\r":
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")
    return text if text == text.strip() else f"\n{text}\n"


DIALECTS = {"own_xml_tool_use": TextDialect("own_xml_tool_use", (TOOL_USE,), _LESSON, _spell_calls)}
