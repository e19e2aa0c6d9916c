"""The shapes in which models write a call as JSON: which keys hold the name and the arguments, lists of calls, calls with thoughts.

The value is given; where it stood in the reply, and whether it may count there, is the business of the forms.
"""

import re
from typing import Any, cast

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

_Object = dict[str, Any]


def calls_in(value: object, offer: Offer, *, bare: bool) -> Found | None:
    """The calls that a value is. `bare`: nothing around it says that it is a call, so it has to have arguments."""
    if isinstance(value, list):
        return _listed(cast("list[object]", value), offer, bare=bare)
    if not isinstance(value, dict):
        return None
    holder = cast("_Object", value)
    listed = next((holder[key] for key in LISTS if isinstance(holder.get(key), list)), None)
    if listed is not None:
        return _with_thoughts(holder, cast("list[object]", listed), offer)
    call = _call(holder, offer, bare=bare)
    return Found((call,)) if call is not None and offer.heeds((call.name,)) else None


def _listed(items: list[object], offer: Offer, *, bare: bool) -> Found | None:
    """The calls in a list, if all of it is calls and one of them is on offer; the model is told about the others."""
    calls = [_call(cast("_Object", item), offer, bare=bare) for item in items if isinstance(item, dict)]
    written = tuple(call for call in calls if call is not None)
    if not written or len(written) < len(items) or not offer.heeds(call.name for call in written):
        return None
    return Found(written)


def _with_thoughts(holder: _Object, listed: list[object], offer: Offer) -> Found | None:
    thinking, words = _string_in(holder, THOUGHTS), _string_in(holder, WORDS)
    if not listed and thinking:
        return Found((), thinking, words)
    found = _listed(listed, offer, bare=False)
    return None if found is None else Found(found.calls, thinking, words)


def _string_in(holder: _Object, keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := holder.get(key), str)), "")


def _call(holder: _Object, offer: Offer, *, bare: bool) -> Written | None:
    inner = next((holder[key] for key in WRAPPERS if isinstance(holder.get(key), dict)), None)
    if inner is not None:
        return _call(cast("_Object", inner), offer, bare=bare)
    if "description" in holder and "parameters" in holder:
        return None  # the tool itself, as the model was told of it
    name = next((holder[key] for key in NAMES if key in holder), None)
    key = next((key for key in ARGUMENTS if key in holder), None)
    if key is None:
        return _flat(holder, name, offer, bare=bare)
    arguments = holder[key]
    if isinstance(name, dict) and isinstance(arguments, str) and offer.has(arguments):
        name, arguments = arguments, cast("object", name)  # the two were swapped
    return Written("", name, _arguments(arguments)) if isinstance(name, str) and name else None


def _flat(holder: _Object, name: object, offer: Offer, *, bare: bool) -> Written | None:
    """A call whose arguments stand beside its name; a bare one counts where each of them is one the tool has."""
    if not isinstance(name, str) or not name:
        return None
    arguments = {key: value for key, value in holder.items() if key not in ASIDES and (key not in NAMES or value != name)}
    if bare and not (arguments and arguments.keys() <= offer.properties(name).keys()):
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
_ARGUMENTS = re.compile(rf"{QUOTE}(?:{'|'.join(ARGUMENTS)}){QUOTE}\s*:\s*")
_BETWEEN = re.compile(r"[\s,]+")


def calls_in_cut(raw: str, offer: Offer) -> Found | None:
    """The calls in a value that was cut off: of a list, those written to their end; and the one it was cut in, marked so."""
    start = _LIST.match(raw)
    tape = Tape(raw[start.end() :] if start else raw, ended=True)
    found = _finished(tape, offer, bare=start.group().lstrip() == "[") if start else []
    cut = cut_call(tape.window[tape.at :], offer)
    if cut is not None:
        found.append(Found((cut,)))
    whole = together(found)
    if whole is None or start is None:
        return whole
    return Found(whole.calls, _thoughts(mend.read_json(start.group() + "]}")))


def _thoughts(outcome: mend.Outcome) -> str:
    holder = outcome.value if isinstance(outcome, mend.Read) else None
    return _string_in(cast("_Object", holder), THOUGHTS) if isinstance(holder, dict) else ""


def _finished(tape: Tape, offer: Offer, *, bare: bool) -> list[Found | None]:
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
        found.append((bare_calls if bare else framed_calls)(tape.window[start : tape.at], offer))


def bare_calls(raw: str, offer: Offer) -> Found | None:
    """The calls that a value is which nothing marks as a call."""
    outcome = mend.read_json(raw)
    return calls_in(outcome.value, offer, bare=True) if isinstance(outcome, mend.Read) else None


def framed_calls(raw: str, offer: Offer) -> Found | None:
    """The calls that a value is inside a frame. Of one that makes no sense, all text is passed on, so that the model is told."""
    outcome = mend.read_json(raw)
    if isinstance(outcome, mend.Read):
        return calls_in(outcome.value, offer, bare=False)
    name = _NAME.search(raw)
    return Found((Written("", name.group(1), raw),)) if name is not None and offer.heeds((name.group(1),)) else None


def cut_call(raw: str, offer: Offer) -> Written | None:
    """The call in which a text was cut off, if it came as far as its name."""
    name = _NAME.search(raw)
    if name is None or not offer.heeds((name.group(1),)):
        return None
    arguments = _ARGUMENTS.search(raw)
    return Written("", name.group(1), raw[arguments.end() :] if arguments else "", cut=True)
