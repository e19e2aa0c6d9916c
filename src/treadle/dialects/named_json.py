"""Calls as a name and then JSON arguments: `[TOOL_CALLS]ls[ARGS]{"path": "."}`. A member of the family is a row here.

What stands between the opening and the arguments is the header: short, and given up on where it isn't. Tokens around all calls
of a reply say nothing that the calls don't, and are left out.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.core.requests import ToolSpec
from treadle.core.seams import Parser
from treadle.dialects import mend
from treadle.dialects.bare_json import BARE
from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import take_value
from treadle.dialects.forms import Form, Found, Offer, Place, Thought, json_text, shut
from treadle.dialects.scan import Markers, Reading, Tape, peek, until
from treadle.dialects.shapes import calls_in_cut, calls_in_text
from treadle.dialects.spelling import lesson
from treadle.dialects.tagged_json import MISTRAL_LIST

_LONGEST = 300  # characters of a header

Naming = Callable[[str, Offer], str | None]


def _as_written(spelled: str, offer: Offer) -> str | None:
    return spelled if offer.heeds((spelled,)) else None


class Header(Struct, frozen=True):
    """How a call is begun and ended.

    marks   what it opens with
    header  all from there to the arguments, with a group `name`, and a group `ready` where the arguments may be left out after it
    limits  what ends all of it, wherever it comes
    close   what may follow the arguments, in this order
    naming  the tool by what stands as its name: empty where only the arguments tell, None where it is no call
    alone   whether the reply may end after the name of a tool that takes no arguments
    place   see `Form`
    """

    marks: tuple[str, ...]
    header: re.Pattern[str]
    limits: tuple[str, ...]
    close: tuple[str, ...] = ()
    naming: Naming = _as_written
    alone: bool = False
    place: Place = "anywhere"


def form_of(row: Header) -> Form:
    """The form of call with this header."""
    stops, ends = Markers(("{", *row.limits)), Markers(row.limits)

    def read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
        header, stop = yield from _up_to(tape, stops)
        found = row.header.fullmatch(header)
        name = row.naming(found["name"], offer) if found else None
        if stop == "{" and name is not None:
            called = yield from _arguments(tape, name, offer, ends)
        elif stop == "{" and header.rstrip().endswith("["):
            called = yield from _listed(tape, header, offer)
        elif found and name and (_is_ready(found) if stop else row.alone and _takes_nothing(name, offer)):
            called = Found((Written("", name, "{}"),))
        else:
            return None
        for word in row.close:
            yield from shut(tape, word)
        return called

    return Form(row.marks, read, place=row.place)


def _is_ready(found: re.Match[str]) -> bool:
    return found.groupdict().get("ready") is not None


def _takes_nothing(name: str, offer: Offer) -> bool:
    return offer.declared.heeds((name,)) and not offer.properties(name)


def _up_to(tape: Tape, stops: Markers) -> Reading[tuple[str, str]]:
    """Takes a header up to what stops it, and says what that is; nothing where it is too long for one."""
    parts: list[str] = []
    left = _LONGEST
    while True:
        count, stop = stops.find(tape)
        parts.append(tape.take(min(count, left)))
        left -= count
        if left < 0:
            return "", ""
        if stop or tape.ended:
            return "".join(parts), stop
        yield


def _arguments(tape: Tape, name: str, offer: Offer, ends: Markers) -> Reading[Found | None]:
    """The call whose arguments begin here. Of what makes no sense, all up to its end is passed on, so that the model is told."""
    start = tape.place()
    ending = yield from take_value(tape, tape.take(1))
    if ending == "broken":
        yield from until(tape, ends)
    raw = tape.since(start)
    outcome = mend.read_object(raw)
    name = name or (offer.having(outcome.value) if isinstance(outcome, mend.Read) else offer.having(()))
    if not name:
        return None
    text = json_text(outcome.value) if isinstance(outcome, mend.Read) else raw
    return Found((Written("", name, text, cut=ending == "cut"),))


def _listed(tape: Tape, header: str, offer: Offer) -> Reading[Found | None]:
    """A list of calls, with words before it."""
    start = tape.place()
    ending = yield from take_value(tape, "[")
    raw = "[" + tape.since(start)
    found = (calls_in_cut if ending == "cut" else calls_in_text)(raw, offer)
    return found and Found(found.calls, text=header.rstrip().removesuffix("[").strip())


_KIMI_ID = re.compile(r"(?:functions\.)?([\w.-]+):[0-9]+")
_KIMI_BENT = re.compile(r"(?:functions[._])?([\w.-]+?)(?:_[0-9]+)?")


def _kimi(spelled: str, offer: Offer) -> str | None:
    """The tool by Kimi's id of a call: `functions.ls:0`, or something like it where there is such a tool, or a number alone."""
    if spelled.isdecimal():
        return ""
    regular, bent = _KIMI_ID.fullmatch(spelled), _KIMI_BENT.fullmatch(spelled)
    if regular:
        return _as_written(regular[1], offer)
    return bent[1] if bent and offer.has(bent[1]) else spelled if offer.has(spelled) else None


_MISTRAL_HEADER = r"\s*(?P<name>[\w./-]+)\s*(?:\[CALL_ID\][^\[{]*)?(?P<ready>\[ARGS\])?\s*"
MISTRAL = form_of(Header(("[TOOL_CALLS]",), re.compile(_MISTRAL_HEADER), ("[TOOL_CALLS]",), alone=True))

_BARS = ("\uff5c", "|")  # some templates write DeepSeek's tokens with a plain bar


def _tokens(*words: str) -> tuple[str, ...]:
    return tuple(f"<{bar}{word.replace(' ', chr(0x2581))}{bar}>" for word in words for bar in _BARS)


_SEP = f"(?:{'|'.join(map(re.escape, _tokens('tool sep')))})"
_DEEPSEEK_HEADER = rf"\s*(?:function\s*{_SEP})?\s*(?P<name>[\w.:/-]+)\s*(?P<ready>{_SEP})?\s*(?:```(?:json)?)?\s*"
_BEGINS, _ENDS = _tokens("tool call begin"), _tokens("tool call end")
_DISTILLED = tuple(f"function{token}" for token in _tokens("tool sep"))  # small ones leave the beginning out
DEEPSEEK = form_of(Header((*_BEGINS, *_DISTILLED), re.compile(_DEEPSEEK_HEADER), (*_BEGINS, *_ENDS), ("```", *_ENDS)))
_DEEPSEEK_NOISE = _tokens("tool calls begin", "tool calls end", "tool output begin", "tool output end", "end of sentence")

_KIMI_END = "<|tool_call_end|>"
_KIMI_ARGUMENTS = "<|tool_call_argument_begin|>"
_KIMI_HEADER = rf"\s*(?P<name>[^\s<]+)\s*(?P<ready>{re.escape(_KIMI_ARGUMENTS)})\s*"
_KIMI_LIMITS = ("<|tool_call_begin|>", _KIMI_END)
KIMI = form_of(Header(_KIMI_LIMITS[:1], re.compile(_KIMI_HEADER), _KIMI_LIMITS, (_KIMI_END,), _kimi))
_KIMI_SECTION = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
_KIMI_NOISE = (*_KIMI_SECTION, _KIMI_ARGUMENTS, _KIMI_END, "<|im_end|>")

_TAGS = ("<function=", "</function>")
FUNCTIONARY = form_of(Header(_TAGS[:1], re.compile(r"(?P<name>[\w./-]+)>\s*"), _TAGS, _TAGS[1:], place="line"))
FORMS = (MISTRAL, DEEPSEEK, KIMI)  # what can be told from everything else; `parameters` reads Functionary's tags too

_TURN_ENDS = ("<|eot_id|>", "<|eom_id|>")
_CODE_ENDS = Markers((*_TURN_ENDS, ">>>"))


def _code(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    """A call of the tool that runs code, which stands there as it is."""
    code, _ = yield from until(tape, _CODE_ENDS)
    named = code.strip() and offer.heeds(("python",))
    return Found((Written("", "python", json_text({"code": code.rstrip("\n")})),)) if named else None


CODE = Form(("<|python_tag|>",), _code, place="anywhere")

_OPENED = "\x02"  # stands for the `>>>` that the prompt of Functionary 3.2 ends with
_RECIPIENT_ENDS = Markers(("\n", "{", ">>>"))


def _recipient(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
    """What is for `all` is words; what is for a tool is its arguments."""
    start = tape.place()
    name, stop = yield from _up_to(tape, _RECIPIENT_ENDS)
    if stop == "\n":
        tape.take(1)
    if stop and name == "all":
        return Found()
    if stop == "\n" and offer.heeds((name,)):
        following = yield from peek(tape)
        if following == "{":
            return (yield from _arguments(tape, name, offer, _CODE_ENDS))
        if name == "python" and following:
            return (yield from _code(tape, mark, offer))
    return Found(text=tape.since(start)) if mark == _OPENED else None


RECIPIENT = Form((_OPENED, ">>>"), _recipient, place="anywhere")


class _Prompted(TextDialect, frozen=True):
    """A dialect in which the prompt has written the first mark."""

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        parser = super().parser(tools, reasoning_open)
        parser.feed(_OPENED)
        return parser


def _each(before: str, between: str, after: str, begin: str = "", end: str = "") -> Callable[[Sequence[Call]], str]:
    """Writes calls: for each its name and its arguments, with this around them; `begin` and `end` go around all of them."""

    def spell(calls: Sequence[Call]) -> str:
        if not calls:
            return ""
        spelled = [
            f"{before}{call.name}{between.replace('#', str(number))}{json_text(call.arguments)}{after}"
            for number, call in enumerate(calls)
        ]
        return f"{begin}{''.join(spelled)}{end}"

    return spell


def _recipients(calls: Sequence[Call]) -> str:
    return ">>>".join(f"{call.name}\n{json_text(call.arguments)}\n" for call in calls)


def _full(word: str) -> str:
    return _tokens(word)[0]


_CALLS = (_full("tool calls begin"), _full("tool calls end"))
_CALL, _CALL_END, _THEN = _full("tool call begin"), _full("tool call end"), _full("tool sep")
_V3 = _each(f"{_CALL}function{_THEN}", "\n```json\n", f"\n```{_CALL_END}", *_CALLS)
_V31 = _each(_CALL, _THEN, _CALL_END, *_CALLS)
_K2 = _each("<|tool_call_begin|>functions.", f":#{_KIMI_ARGUMENTS}", _KIMI_END, *_KIMI_SECTION)
_TEKKEN = _each("[TOOL_CALLS]", "[ARGS]", "")
_TAGGED = _each("<function=", ">", "</function>")
_THINK = Thought("[THINK]", "[/THINK]", place="anywhere")
_ROWS = (
    TextDialect("mistral", (MISTRAL_LIST, MISTRAL, BARE), lesson(_TEKKEN), _TEKKEN, (_THINK,), ("</s>", "[/TOOL_CALLS]")),
    TextDialect("deepseek_v3", (DEEPSEEK,), lesson(_V3), _V3, noise=_DEEPSEEK_NOISE),
    TextDialect("deepseek_v31", (DEEPSEEK,), lesson(_V31), _V31, noise=_DEEPSEEK_NOISE),
    TextDialect("kimi_k2", (KIMI,), lesson(_K2), _K2, noise=_KIMI_NOISE),
    TextDialect("functionary_v31", (FUNCTIONARY, CODE), lesson(_TAGGED), _TAGGED, noise=_TURN_ENDS),
    _Prompted("functionary_v32", (RECIPIENT,), lesson(_recipients), _recipients, noise=_TURN_ENDS),
)
DIALECTS = {row.name: row for row in _ROWS}
