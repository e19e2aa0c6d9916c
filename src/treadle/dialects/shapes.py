"""The shapes in which models write a call as JSON: which keys hold the name and the arguments, lists of calls, calls with thoughts.

The value is given; where it stood in the reply, and whether it may count there, is the business of the forms.
"""

import re
from typing import Any, Literal, cast

from treadle.core.calls import Written
from treadle.dialects import mend
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Found, Offer, json_text, together
from treadle.dialects.scan import Tape, peek, read_whole, run

NAMES = ("name", "tool", "function", "tool_name", "function_name")
ARGUMENTS = ("arguments", "args", "parameters", "params", "input")
WRAPPERS = ("function", "function_call", "tool_call")
LISTS = ("tool_calls", "calls")
THOUGHTS = ("thoughts", "thought", "thinking", "reasoning")
WORDS = ("content", "message", "text", "response", "answer")
ASIDES = ("id", "type", "index", "call_id", "tool_call_id", "role")

# bare: nothing around it says that it is a call, so it has to have arguments; framed: a frame says so;
# keyed: a frame says so, and the tool's name is the only key of the object that is the call
Shape = Literal["bare", "framed", "keyed"]

_Object = dict[str, Any]


def calls_in(value: object, offer: Offer, shape: Shape) -> Found | None:
    """The calls that a value is."""
    if isinstance(value, list):
        return _listed(cast("list[object]", value), offer, shape)
    if not isinstance(value, dict):
        return None
    holder = cast("_Object", value)
    listed = next((holder[key] for key in LISTS if isinstance(holder.get(key), list)), None)
    if listed is not None:
        return _with_thoughts(holder, cast("list[object]", listed), offer)
    call = _call(holder, offer, shape)
    return Found((call,)) if call is not None and offer.heeds((call.name,)) else None


def _listed(items: list[object], offer: Offer, shape: Shape) -> Found | None:
    """The calls in a list, if all of it is calls and one of them is on offer; the model is told about the others."""
    calls = [_call(cast("_Object", item), offer, shape) for item in items if isinstance(item, dict)]
    written = tuple(call for call in calls if call is not None)
    if not written or len(written) < len(items) or not offer.heeds(call.name for call in written):
        return None
    return Found(written)


def _with_thoughts(holder: _Object, listed: list[object], offer: Offer) -> Found | None:
    thinking, words = _string_in(holder, THOUGHTS), _string_in(holder, WORDS)
    if not listed and thinking:
        return Found((), thinking, words)
    found = _listed(listed, offer, "framed")
    return None if found is None else Found(found.calls, thinking, words)


def _string_in(holder: _Object, keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := holder.get(key), str)), "")


def _call(holder: _Object, offer: Offer, shape: Shape) -> Written | None:
    if shape == "keyed" and len(holder) == 1:
        return next(Written("", name, _arguments(arguments)) for name, arguments in holder.items())
    inner = next((holder[key] for key in WRAPPERS if isinstance(holder.get(key), dict)), None)
    if inner is not None:
        return _call(cast("_Object", inner), offer, shape)
    if "description" in holder and "parameters" in holder:
        return None  # the tool itself, as the model was told of it
    name = next((holder[key] for key in NAMES if key in holder), None)
    key = next((key for key in ARGUMENTS if key in holder), None)
    if key is None:
        return _flat(holder, name, offer, shape)
    arguments = holder[key]
    if isinstance(name, dict) and isinstance(arguments, str) and offer.has(arguments):
        name, arguments = arguments, cast("object", name)  # the two were swapped
    return Written("", name, _arguments(arguments)) if isinstance(name, str) and name else None


def _flat(holder: _Object, name: object, offer: Offer, shape: Shape) -> Written | None:
    """A call whose arguments stand beside its name; a bare one counts where they are those the tool has, be it none."""
    if not isinstance(name, str) or not name:
        return None
    arguments = {key: value for key, value in holder.items() if key not in ASIDES and (key not in NAMES or value != name)}
    known = offer.properties(name).keys()
    if shape == "bare" and not (arguments.keys() <= known and bool(arguments) == bool(known) and offer.has(name)):
        return None
    return Written("", name, json_text(arguments))


def _arguments(value: object) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, str):
        return json_text(value)
    outcome = mend.read_object(value)
    return json_text(outcome.value) if isinstance(outcome, mend.Read) else value


QUOTE = r"[\"'\u201c\u201d]"
_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\u201c[^\u201d]*\u201d)"""
_MEMBER = rf"{_STRING}\s*:\s*(?:{_STRING}|null)\s*,\s*"
_LIST = re.compile(rf"\s*\[|\s*\{{\s*(?:{_MEMBER})*{QUOTE}(?:{'|'.join(LISTS)}){QUOTE}\s*:\s*\[", re.DOTALL)
_NAME = re.compile(rf"{QUOTE}(?:{'|'.join(NAMES)}){QUOTE}\s*:\s*{QUOTE}([^\"'\u201d\\]+){QUOTE}")
_BEGUN = re.compile(rf"{QUOTE}(?:{'|'.join(NAMES)}){QUOTE}\s*:\s*{QUOTE}([^\"'\u201d\\]+)\Z")
_KEY = re.compile(rf"[\s\[{{]*{QUOTE}([^\"'\u201d\\]+){QUOTE}\s*:\s*")
_ARGUMENTS = re.compile(rf"{QUOTE}(?:{'|'.join(ARGUMENTS)}){QUOTE}\s*:\s*")
_BETWEEN = re.compile(r"[\s,]+")


def calls_in_cut(raw: str, offer: Offer, shape: Shape = "framed") -> Found | None:
    """The calls in a value that was cut off: of a list, those written to their end; and the one it was cut in, marked so."""
    start = _LIST.match(raw)
    of_items = shape if start is None or start.group().lstrip() == "[" else "framed"
    tape = Tape(raw[start.end() :] if start else raw, ended=True)
    found = _finished(tape, offer, of_items) if start else []
    rest = tape.window[tape.at :]
    last = _all_but_closed(rest, offer, of_items) or _cut_call(rest, offer, of_items)
    if last is not None:
        found.append(last)
    whole = together(found)
    if whole is None or start is None:
        return whole
    return Found(whole.calls, _thoughts(mend.read_json(start.group() + "]}")))


def _thoughts(outcome: mend.Outcome) -> str:
    holder = outcome.value if isinstance(outcome, mend.Read) else None
    return _string_in(cast("_Object", holder), THOUGHTS) if isinstance(holder, dict) else ""


def _finished(tape: Tape, offer: Offer, shape: Shape) -> list[Found | None]:
    found: list[Found | None] = []
    while True:
        read_whole(run(tape, _BETWEEN))
        start = tape.at
        if read_whole(peek(tape)) != "{":
            return found
        tape.take(1)
        if read_whole(take_value(tape, "{")) != "whole":
            tape.at = start
            return found
        found.append(calls_in_text(tape.window[start : tape.at], offer, shape))


def _all_but_closed(raw: str, offer: Offer, shape: Shape) -> Found | None:
    """The call that lacks nothing but the brace around it: its arguments were written to their end."""
    text = raw.rstrip()
    outcome = mend.read_json(text + "}") if text.endswith("}") else None
    value = cast("object", outcome.value) if isinstance(outcome, mend.Read) else None
    if not isinstance(value, dict):
        return None
    holder = cast("_Object", value)
    closed = any(isinstance(holder.get(key), dict) for key in (*ARGUMENTS, *WRAPPERS))
    return calls_in(holder, offer, shape) if closed or shape == "keyed" else None


def calls_in_text(raw: str, offer: Offer, shape: Shape = "framed") -> Found | None:
    """The calls that a text is. Of one in a frame that makes no sense, all is passed on, so that the model is told."""
    outcome = mend.read_json(raw)
    if isinstance(outcome, mend.Read):
        return calls_in(outcome.value, offer, shape)
    name = None if shape == "bare" else _name_in(raw, shape)
    return Found((Written("", name.group(1), raw),)) if name is not None and offer.heeds((name.group(1),)) else None


def _name_in(raw: str, shape: Shape) -> re.Match[str] | None:
    return _KEY.match(raw) if shape == "keyed" else _NAME.search(raw)


def _cut_call(raw: str, offer: Offer, shape: Shape) -> Found | None:
    """The call in which a text was cut off, if it came as far as its name."""
    name = _name_in(raw, shape)
    if name is None and shape == "framed":
        begun = _BEGUN.search(raw)
        return Found((Written("", begun.group(1), "", cut=True),)) if begun and offer.begins(begun.group(1)) else None
    if name is None or not offer.heeds((name.group(1),)):
        return None
    arguments = name if shape == "keyed" else _ARGUMENTS.search(raw)
    return Found((Written("", name.group(1), raw[arguments.end() :] if arguments else "", cut=True),))
