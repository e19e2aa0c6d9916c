"""Calls as a name followed by JSON arguments: `[TOOL_CALLS]ls[ARGS]{"path": "."}`.

A member of the family is a row in this module.

The text between the opening mark and the arguments is the header: it is short, and a long one isn't a header. Tokens around
all calls of a reply carry no information of their own, and are dropped.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.core.requests import ToolSpec
from treadle.core.seams import Parser
from treadle.dialects import json_repair
from treadle.dialects.dialect import TextDialect
from treadle.dialects.formats.bare_json import BARE
from treadle.dialects.formats.tagged_json import MISTRAL_LIST
from treadle.dialects.forms import CallMatch, Form, OfferedTools, Placement, ThinkingFrame, take_closer, to_json_text
from treadle.dialects.json_calls import calls_in_cut, calls_in_text, json_lesson
from treadle.dialects.scanner import Markers, Reading, Tape, peek, take_until, take_value

_MAX_HEADER = 300  # characters of a header

NameResolver = Callable[[str, OfferedTools], str | None]


def _accept_as_written(spelled: str, offer: OfferedTools) -> str | None:
    return spelled if offer.heeds((spelled,)) else None


class CallHeader(Struct, frozen=True):
    """How a call begins and ends.

    marks   what it opens with
    header  everything from there to the arguments, with a group `name`, and a group `ready` after which these may be left out
    limits  what ends the call, wherever it occurs
    close   what may follow the arguments, in this order
    naming  returns the tool for the text in the name's place: empty if only the arguments tell, None if it is no call
    alone   whether the reply may end after the name of a tool without arguments
    place   see `Form`
    """

    marks: tuple[str, ...]
    header: re.Pattern[str]
    limits: tuple[str, ...]
    close: tuple[str, ...] = ()
    naming: NameResolver = _accept_as_written
    alone: bool = False
    place: Placement = "anywhere"


def named_form(row: CallHeader) -> Form:
    """Return the form of calls with this header."""
    stops, ends = Markers(("{", *row.limits)), Markers(row.limits)

    def read(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
        header, stop = yield from _take_header(tape, stops)
        found = row.header.fullmatch(header)
        name = row.naming(found["name"], offer) if found else None
        if stop == "{" and name is not None:
            called = yield from _read_arguments(tape, name, offer, ends)
        elif stop == "{" and header.rstrip().endswith("["):
            called = yield from _read_list(tape, header, offer)
        elif found and name and (_is_complete(found) if stop else row.alone and _has_no_arguments(name, offer)):
            called = CallMatch((Written("", name, "{}"),))
        else:
            return None
        for word in row.close:
            yield from take_closer(tape, word)
        return called

    return Form(row.marks, read, place=row.place)


def _is_complete(found: re.Match[str]) -> bool:
    return found.groupdict().get("ready") is not None


def _has_no_arguments(name: str, offer: OfferedTools) -> bool:
    return offer.declared.heeds((name,)) and not offer.properties(name)


def _take_header(tape: Tape, stops: Markers) -> Reading[tuple[str, str]]:
    """Take a header up to the mark that ends it, and return both; nothing if the header is too long."""
    parts: list[str] = []
    left = _MAX_HEADER
    while True:
        count, stop = stops.find(tape)
        parts.append(tape.take(min(count, left)))
        left -= count
        if left < 0:
            return "", ""
        if stop or tape.ended:
            return "".join(parts), stop
        yield


def _read_arguments(tape: Tape, name: str, offer: OfferedTools, ends: Markers) -> Reading[CallMatch | None]:
    """Read the call whose arguments begin here.

    If they are invalid, everything up to their end is passed on, so that the model sees it.
    """
    start = tape.place()
    ending = yield from take_value(tape, tape.take(1))
    if ending == "broken":
        yield from take_until(tape, ends)
    raw = tape.held_since(start)
    outcome = json_repair.read_object(raw)
    name = name or (offer.having(outcome.value) if isinstance(outcome, json_repair.JsonRead) else offer.having(()))
    if not name:
        return None
    text = to_json_text(outcome.value) if isinstance(outcome, json_repair.JsonRead) else raw
    return CallMatch((Written("", name, text, cut=ending == "cut"),))


def _read_list(tape: Tape, header: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    """Read a list of calls with text before it."""
    start = tape.place()
    ending = yield from take_value(tape, "[")
    raw = "[" + tape.held_since(start)
    found = (calls_in_cut if ending == "cut" else calls_in_text)(raw, offer)
    return found and CallMatch(found.calls, text=header.rstrip().removesuffix("[").strip())


_KIMI_ID = re.compile(r"(?:functions\.)?([\w.-]+):[0-9]+")
_KIMI_BENT = re.compile(r"(?:functions[._])?([\w.-]+?)(?:_[0-9]+)?")


def _kimi_tool(spelled: str, offer: OfferedTools) -> str | None:
    """Return the tool of Kimi's call id: `functions.ls:0`, a variant of it if there is such a tool, or a number alone."""
    if spelled.isdecimal():
        return ""
    regular, bent = _KIMI_ID.fullmatch(spelled), _KIMI_BENT.fullmatch(spelled)
    if regular:
        return _accept_as_written(regular[1], offer)
    return bent[1] if bent and offer.has(bent[1]) else spelled if offer.has(spelled) else None


_MISTRAL_HEADER = r"\s*(?P<name>[\w./-]+)\s*(?:\[CALL_ID\][^\[{]*)?(?P<ready>\[ARGS\])?\s*"
MISTRAL = named_form(CallHeader(("[TOOL_CALLS]",), re.compile(_MISTRAL_HEADER), ("[TOOL_CALLS]",), alone=True))

_BARS = ("\uff5c", "|")  # some templates write DeepSeek's tokens with a plain bar


def _bar_tokens(*words: str) -> tuple[str, ...]:
    return tuple(f"<{bar}{word.replace(' ', chr(0x2581))}{bar}>" for word in words for bar in _BARS)


_SEP = f"(?:{'|'.join(map(re.escape, _bar_tokens('tool sep')))})"
_DEEPSEEK_HEADER = rf"\s*(?:function\s*{_SEP})?\s*(?P<name>[\w.:/-]+)\s*(?P<ready>{_SEP})?\s*(?:```(?:json)?)?\s*"
_BEGINS, _ENDS = _bar_tokens("tool call begin"), _bar_tokens("tool call end")
_DISTILLED = tuple(f"function{token}" for token in _bar_tokens("tool sep"))  # small ones leave the beginning out
DEEPSEEK = named_form(CallHeader((*_BEGINS, *_DISTILLED), re.compile(_DEEPSEEK_HEADER), (*_BEGINS, *_ENDS), ("```", *_ENDS)))
_DEEPSEEK_NOISE = _bar_tokens("tool calls begin", "tool calls end", "tool output begin", "tool output end", "end of sentence")

_KIMI_END = "<|tool_call_end|>"
_KIMI_ARGUMENTS = "<|tool_call_argument_begin|>"
_KIMI_HEADER = rf"\s*(?P<name>[^\s<]+)\s*(?P<ready>{re.escape(_KIMI_ARGUMENTS)})\s*"
_KIMI_LIMITS = ("<|tool_call_begin|>", _KIMI_END)
KIMI = named_form(CallHeader(_KIMI_LIMITS[:1], re.compile(_KIMI_HEADER), _KIMI_LIMITS, (_KIMI_END,), _kimi_tool))
_KIMI_SECTION = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
_KIMI_NOISE = (*_KIMI_SECTION, _KIMI_ARGUMENTS, _KIMI_END, "<|im_end|>")

_TAGS = ("<function=", "</function>")
FUNCTIONARY = named_form(CallHeader(_TAGS[:1], re.compile(r"(?P<name>[\w./-]+)>\s*"), _TAGS, _TAGS[1:], place="line"))
FORMS = (MISTRAL, DEEPSEEK, KIMI)  # what can be told from everything else; `parameters` reads Functionary's tags too

_TURN_ENDS = ("<|eot_id|>", "<|eom_id|>")
_CODE_ENDS = Markers((*_TURN_ENDS, ">>>"))


def _read_code(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    """Read a call of the tool that runs code; the code is written literally."""
    code, _ = yield from take_until(tape, _CODE_ENDS)
    named = code.strip() and offer.heeds(("python",))
    return CallMatch((Written("", "python", to_json_text({"code": code.rstrip("\n")})),)) if named else None


CODE = Form(("<|python_tag|>",), _read_code, place="anywhere")

_OPENED = "\x02"  # stands for the `>>>` that the prompt of Functionary 3.2 ends with
_RECIPIENT_ENDS = Markers(("\n", "{", ">>>"))


def _read_recipient(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
    """Read a message: to `all` it is text; to a tool it is the arguments."""
    start = tape.place()
    name, stop = yield from _take_header(tape, _RECIPIENT_ENDS)
    if stop == "\n":
        tape.take(1)
    if stop and name == "all":
        return CallMatch()
    if stop == "\n" and offer.heeds((name,)):
        following = yield from peek(tape)
        if following == "{":
            return (yield from _read_arguments(tape, name, offer, _CODE_ENDS))
        if name == "python" and following:
            return (yield from _read_code(tape, mark, offer))
    return CallMatch(text=tape.held_since(start)) if mark == _OPENED else None


RECIPIENT = Form((_OPENED, ">>>"), _read_recipient, place="anywhere")


class _OpenedDialect(TextDialect, frozen=True):
    """A dialect whose first mark is already in the prompt."""

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        parser = super().parser(tools, reasoning_open)
        parser.feed(_OPENED)
        return parser


def _call_speller(before: str, between: str, after: str, begin: str = "", end: str = "") -> Callable[[Sequence[Call]], str]:
    """Return a function that writes calls: name and arguments with these marks around each.

    `begin` and `end` go around all of them.
    """

    def spell(calls: Sequence[Call]) -> str:
        if not calls:
            return ""
        spelled = [
            f"{before}{call.name}{between.replace('#', str(number))}{to_json_text(call.arguments)}{after}"
            for number, call in enumerate(calls)
        ]
        return f"{begin}{''.join(spelled)}{end}"

    return spell


def _spell_recipients(calls: Sequence[Call]) -> str:
    return ">>>".join(f"{call.name}\n{to_json_text(call.arguments)}\n" for call in calls)


def _full_width_token(word: str) -> str:
    return _bar_tokens(word)[0]


_CALLS = (_full_width_token("tool calls begin"), _full_width_token("tool calls end"))
_CALL, _CALL_END, _THEN = _full_width_token("tool call begin"), _full_width_token("tool call end"), _full_width_token("tool sep")
_V3 = _call_speller(f"{_CALL}function{_THEN}", "\n```json\n", f"\n```{_CALL_END}", *_CALLS)
_V31 = _call_speller(_CALL, _THEN, _CALL_END, *_CALLS)
_K2 = _call_speller("<|tool_call_begin|>functions.", f":#{_KIMI_ARGUMENTS}", _KIMI_END, *_KIMI_SECTION)
_TEKKEN = _call_speller("[TOOL_CALLS]", "[ARGS]", "")
_TAGGED = _call_speller("<function=", ">", "</function>")
_THINK = ThinkingFrame("[THINK]", "[/THINK]", place="anywhere")
_ROWS = (
    TextDialect("mistral", (MISTRAL_LIST, MISTRAL, BARE), json_lesson(_TEKKEN), _TEKKEN, (_THINK,), ("</s>", "[/TOOL_CALLS]")),
    TextDialect("deepseek_v3", (DEEPSEEK,), json_lesson(_V3), _V3, noise=_DEEPSEEK_NOISE),
    TextDialect("deepseek_v31", (DEEPSEEK,), json_lesson(_V31), _V31, noise=_DEEPSEEK_NOISE),
    TextDialect("kimi_k2", (KIMI,), json_lesson(_K2), _K2, noise=_KIMI_NOISE),
    TextDialect("functionary_v31", (FUNCTIONARY, CODE), json_lesson(_TAGGED), _TAGGED, noise=_TURN_ENDS),
    _OpenedDialect("functionary_v32", (RECIPIENT,), json_lesson(_spell_recipients), _spell_recipients, noise=_TURN_ENDS),
)
DIALECTS = {row.name: row for row in _ROWS}
