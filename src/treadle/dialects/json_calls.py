"""The shapes in which models write a call as JSON: reading them, writing them in a prompt, and the lesson that teaches one.

Functions that read are given the value; where it stood in the reply, and whether it counts there, is decided by the forms.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects import json_repair
from treadle.dialects.forms import CallMatch, OfferedTools, combine_matches, to_json_text
from treadle.dialects.scanner import Tape, peek, run_reader, take_run, take_value

NAME_KEYS = ("name", "tool", "function", "tool_name", "function_name")
ARGUMENT_KEYS = ("arguments", "args", "parameters", "params", "input")
WRAPPER_KEYS = ("function", "function_call", "tool_call")
LIST_KEYS = ("tool_calls", "calls")
THOUGHT_KEYS = ("thoughts", "thought", "thinking", "reasoning")
TEXT_KEYS = ("content", "message", "text", "response", "answer")
OTHER_KEYS = ("id", "type", "index", "call_id", "tool_call_id", "role")

# bare: nothing around it says that it is a call, so it has to have arguments; framed: a frame says so;
# keyed: a frame says so, and the tool's name is the only key of the object that is the call
CallShape = Literal["bare", "framed", "keyed"]

_Object = dict[str, Any]
_EXAMPLE = Call("", "TOOL", {"ARGUMENT": "VALUE"})


def calls_in(value: object, offer: OfferedTools, shape: CallShape) -> CallMatch | None:
    """Return the calls in a value."""
    if isinstance(value, list):
        return _calls_in_list(cast("list[object]", value), offer, shape)
    if not isinstance(value, dict):
        return None
    holder = cast("_Object", value)
    listed = next((holder[key] for key in LIST_KEYS if isinstance(holder.get(key), list)), None)
    if listed is not None:
        return _calls_with_thoughts(holder, cast("list[object]", listed), offer)
    call = _parse_call(holder, offer, shape)
    return CallMatch((call,)) if call is not None and offer.heeds((call.name,)) else None


def _calls_in_list(items: list[object], offer: OfferedTools, shape: CallShape) -> CallMatch | None:
    """Return the calls in a list, if all of it is calls and one of them is offered; the others are passed on as problems."""
    calls = [_parse_call(cast("_Object", item), offer, shape) for item in items if isinstance(item, dict)]
    written = tuple(call for call in calls if call is not None)
    if not written or len(written) < len(items) or not offer.heeds(call.name for call in written):
        return None
    return CallMatch(written)


def _calls_with_thoughts(holder: _Object, listed: list[object], offer: OfferedTools) -> CallMatch | None:
    thinking, words = _first_string(holder, THOUGHT_KEYS), _first_string(holder, TEXT_KEYS)
    if not listed and thinking:
        return CallMatch((), thinking, words)
    found = _calls_in_list(listed, offer, "framed")
    return None if found is None else CallMatch(found.calls, thinking, words)


def _first_string(holder: _Object, keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := holder.get(key), str)), "")


def _parse_call(holder: _Object, offer: OfferedTools, shape: CallShape) -> Written | None:
    if shape == "keyed" and len(holder) == 1:
        return next(Written("", name, _arguments_text(arguments)) for name, arguments in holder.items())
    inner = next((holder[key] for key in WRAPPER_KEYS if isinstance(holder.get(key), dict)), None)
    if inner is not None:
        return _parse_call(cast("_Object", inner), offer, shape)
    if "description" in holder and "parameters" in holder:
        return None  # the tool itself, as it was described to the model
    name = next((holder[key] for key in NAME_KEYS if key in holder), None)
    key = next((key for key in ARGUMENT_KEYS if key in holder), None)
    if key is None:
        return _parse_flat_call(holder, name, offer, shape)
    arguments = holder[key]
    if isinstance(name, dict) and isinstance(arguments, str) and offer.has(arguments):
        name, arguments = arguments, cast("object", name)  # the two were swapped
    return Written("", name, _arguments_text(arguments)) if isinstance(name, str) and name else None


def _parse_flat_call(holder: _Object, name: object, offer: OfferedTools, shape: CallShape) -> Written | None:
    """Return a call whose arguments stand beside its name; a bare one counts if they are those of the tool, even if it has none."""
    if not isinstance(name, str) or not name:
        return None
    arguments = {key: value for key, value in holder.items() if key not in OTHER_KEYS and (key not in NAME_KEYS or value != name)}
    known = offer.properties(name).keys()
    if shape == "bare" and not (arguments.keys() <= known and bool(arguments) == bool(known) and offer.has(name)):
        return None
    return Written("", name, to_json_text(arguments))


def _arguments_text(value: object) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, str):
        return to_json_text(value)
    outcome = json_repair.read_object(value)
    return to_json_text(outcome.value) if isinstance(outcome, json_repair.JsonRead) else value


QUOTE = r"[\"'\u201c\u201d]"
_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\u201c[^\u201d]*\u201d)"""
_MEMBER = rf"{_STRING}\s*:\s*(?:{_STRING}|null)\s*,\s*"
_LIST = re.compile(rf"\s*\[|\s*\{{\s*(?:{_MEMBER})*{QUOTE}(?:{'|'.join(LIST_KEYS)}){QUOTE}\s*:\s*\[", re.DOTALL)
_NAME = re.compile(rf"{QUOTE}(?:{'|'.join(NAME_KEYS)}){QUOTE}\s*:\s*{QUOTE}([^\"'\u201d\\]+){QUOTE}")
_BEGUN = re.compile(rf"{QUOTE}(?:{'|'.join(NAME_KEYS)}){QUOTE}\s*:\s*{QUOTE}([^\"'\u201d\\]+)\Z")
_KEY = re.compile(rf"[\s\[{{]*{QUOTE}([^\"'\u201d\\]+){QUOTE}\s*:\s*")
_ARGUMENTS = re.compile(rf"{QUOTE}(?:{'|'.join(ARGUMENT_KEYS)}){QUOTE}\s*:\s*")
_BETWEEN = re.compile(r"[\s,]+")


def calls_in_cut(raw: str, offer: OfferedTools, shape: CallShape = "framed") -> CallMatch | None:
    """Return the calls in a value that was cut off: of a list, the complete ones; and the one that was cut, marked so."""
    start = _LIST.match(raw)
    of_items = shape if start is None or start.group().lstrip() == "[" else "framed"
    tape = Tape(raw[start.end() :] if start else raw, ended=True)
    found = _finished_calls(tape, offer, of_items) if start else []
    rest = tape.window[tape.at :]
    last = _call_without_brace(rest, offer, of_items) or _parse_cut_call(rest, offer, of_items)
    if last is not None:
        found.append(last)
    whole = combine_matches(found)
    if whole is None or start is None:
        return whole
    return CallMatch(whole.calls, _thoughts_text(json_repair.read_json(start.group() + "]}")))


def _thoughts_text(outcome: json_repair.JsonOutcome) -> str:
    holder = outcome.value if isinstance(outcome, json_repair.JsonRead) else None
    return _first_string(cast("_Object", holder), THOUGHT_KEYS) if isinstance(holder, dict) else ""


def _finished_calls(tape: Tape, offer: OfferedTools, shape: CallShape) -> list[CallMatch | None]:
    found: list[CallMatch | None] = []
    while True:
        run_reader(take_run(tape, _BETWEEN))
        start = tape.at
        if run_reader(peek(tape)) != "{":
            return found
        tape.take(1)
        if run_reader(take_value(tape, "{")) != "whole":
            tape.at = start
            return found
        found.append(calls_in_text(tape.window[start : tape.at], offer, shape))


def _call_without_brace(raw: str, offer: OfferedTools, shape: CallShape) -> CallMatch | None:
    """Return the call that lacks only its closing brace: its arguments are complete."""
    text = raw.rstrip()
    outcome = json_repair.read_json(text + "}") if text.endswith("}") else None
    value = cast("object", outcome.value) if isinstance(outcome, json_repair.JsonRead) else None
    if not isinstance(value, dict):
        return None
    holder = cast("_Object", value)
    closed = any(isinstance(holder.get(key), dict) for key in (*ARGUMENT_KEYS, *WRAPPER_KEYS))
    return calls_in(holder, offer, shape) if closed or shape == "keyed" else None


def calls_in_text(raw: str, offer: OfferedTools, shape: CallShape = "framed") -> CallMatch | None:
    """Return the calls in a text. If a framed one is invalid, all of it is passed on, so that the model gets a problem."""
    outcome = json_repair.read_json(raw)
    if isinstance(outcome, json_repair.JsonRead):
        return calls_in(outcome.value, offer, shape)
    name = None if shape == "bare" else _find_name(raw, shape)
    return CallMatch((Written("", name.group(1), raw),)) if name is not None and offer.heeds((name.group(1),)) else None


def _find_name(raw: str, shape: CallShape) -> re.Match[str] | None:
    return _KEY.match(raw) if shape == "keyed" else _NAME.search(raw)


def _parse_cut_call(raw: str, offer: OfferedTools, shape: CallShape) -> CallMatch | None:
    """Return the call in which a text was cut off, if it got as far as the name."""
    name = _find_name(raw, shape)
    if name is None and shape == "framed":
        begun = _BEGUN.search(raw)
        return CallMatch((Written("", begun.group(1), "", cut=True),)) if begun and offer.begins(begun.group(1)) else None
    if name is None or not offer.heeds((name.group(1),)):
        return None
    arguments = name if shape == "keyed" else _ARGUMENTS.search(raw)
    return CallMatch((Written("", name.group(1), raw[arguments.end() :] if arguments else "", cut=True),))


class JsonSpelling(Struct, frozen=True):
    """The text around a call that is a JSON object, and its keys.

    listed   all calls are in one list, with `before` and `after` around it
    between  the text between one call and the next, if they aren't listed
    """

    before: str = ""
    after: str = ""
    listed: bool = False
    between: str = "\n"
    keys: tuple[str, str] = ("name", "arguments")

    def spell(self, calls: Sequence[Call]) -> str:
        """Return the calls in this spelling."""
        objects = [self._to_object(call) for call in calls]
        if self.listed:
            return f"{self.before}{to_json_text(objects)}{self.after}" if objects else ""
        return self.between.join(f"{self.before}{to_json_text(one)}{self.after}" for one in objects)

    def _to_object(self, call: Call) -> dict[str, Any]:
        name, arguments = self.keys
        return {name: call.name, arguments: call.arguments}


def json_lesson(spell: Callable[[Sequence[Call]], str], *, listed: bool = False) -> str:
    """Return instructions for writing calls, with an example."""
    several = "List several calls together." if listed else "For several calls, write several of these."
    return f"To call a tool, write exactly this, with its name and its arguments as JSON:\n{spell([_EXAMPLE])}\n{several}"
