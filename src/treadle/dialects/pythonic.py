"""Calls in Python's own syntax, in a list or between tags: `[ls(path="."), read_file(path="a", start=1)]`.

A member of the family is a row here: what opens and closes its frames. How a call is read is `python_calls`. Models that were
taught Python at times write JSON between the same tags, which counts as well.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects.bare_json import BARE
from treadle.dialects.dialect import TextDialect
from treadle.dialects.extent import Ending, take_value
from treadle.dialects.forms import Form, Found, Offer, Place, closed
from treadle.dialects.python_calls import read_call, spelled
from treadle.dialects.scan import Markers, Reading, Tape, peek, run, took, until
from treadle.dialects.shapes import calls_in_cut, calls_in_text

_NAME = re.compile(r"[\w.:/-]+")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"


class Frame(Struct, frozen=True):
    """What stands around calls.

    offered  only tools on offer count, whatever the dialect forwards: nothing but their names says that these are calls
    echoes   what stood in the frame may stand behind it once more, closing and all
    place, fences  see `Form`
    """

    open: str
    close: str
    place: Place = "anywhere"
    fences: tuple[str, ...] = ()
    offered: bool = False
    echoes: bool = False

    @property
    def bare(self) -> bool:
        """Whether it is nothing but a list, which Markdown and JSON have too."""
        return self.open == "["


_BETWEEN = re.compile(r"[\s,;\[\]]+")
_BETWEEN_BARE = re.compile(r"[\s,]+")


class _Items:
    """The calls in one frame, as they are read."""

    __slots__ = ("_frame", "_offer", "_tape", "calls", "rest", "sound")

    def __init__(self, tape: Tape, frame: Frame, offer: Offer) -> None:
        self._tape = tape
        self._frame = frame
        self._offer = offer
        self.calls: list[Written] = []
        self.sound = False  # whether one of them makes sense, as far as it was written
        self.rest = ""  # what came after them, and is none

    def read(self) -> Reading[bool]:
        """Takes all calls; whether they are what the frame holds."""
        ending: Ending = "whole"
        while ending == "whole":
            yield from run(self._tape, _BETWEEN_BARE if self._frame.bare else _BETWEEN)
            first = yield from peek(self._tape)
            if first == "{" and not self._frame.bare:
                ending = yield from self._json()
            elif _NAME.match(first):
                ending = yield from self._python((yield from run(self._tape, _NAME)))
            else:
                break
        return ending != "broken" and self._counts()

    def _counts(self) -> bool:
        if not self.calls:
            return not self._frame.bare
        return self._offer.heeds(call.name for call in self.calls) and (self.sound or not self._frame.bare)

    def _python(self, spelled_name: str) -> Reading[Ending]:
        tape, frame = self._tape, self._frame
        name = _meant(spelled_name, self._offer)
        if not (yield from took(tape, "(")):
            self.rest = spelled_name
            return "cut" if self.calls and (frame.place == "anywhere" or not (yield from peek(tape))) else "broken"
        if frame.bare and not self.calls and not self._offer.heeds((name,)):
            return "broken"
        call = yield from read_call(tape, name, "" if frame.bare else frame.close, self._offer)
        if call.ending != "broken":
            self.calls.append(call.written)
            self.sound = self.sound or call.sound
        return call.ending

    def _json(self) -> Reading[Ending]:
        start = self._tape.place()
        ending = yield from take_value(self._tape, self._tape.take(1))
        found = (calls_in_cut if ending == "cut" else calls_in_text)(self._tape.since(start), self._offer)
        self.calls += found.calls if found else ()
        return ending if found else "broken"


def _meant(name: str, offer: Offer) -> str:
    """The tool that is meant; some models write a module before its name."""
    last = name.rpartition(".")[2]
    return last if offer.has(last) and not offer.has(name) else name


def form_of(frame: Frame) -> Form:
    """The form of calls in this frame."""
    ends = Markers((frame.open, frame.close))

    def read(tape: Tape, mark: str, offer: Offer) -> Reading[Found | None]:
        items = _Items(tape, frame, offer.declared if frame.offered else offer)
        if not (yield from items.read()):
            return None
        ended = yield from closed(tape, frame.open, frame.close)
        if not ended and (frame.place == "line" or not items.calls):
            return None
        echo = (yield from _beyond_echo(tape, ends, frame.close)) if frame.echoes else ""
        return Found(tuple(items.calls), text=items.rest + echo)

    return Form(
        (frame.open,),
        read,
        place=frame.place,
        then=_LETTERS if frame.bare else _LETTERS + "[{",
        close="" if frame.bare else frame.close,
        fences=frame.fences,
    )


def _beyond_echo(tape: Tape, ends: Markers, close: str) -> Reading[str]:
    """Takes a list that is closed once more. What only looked like that is text."""
    if (yield from peek(tape)) != "[":
        return ""
    words, mark = yield from until(tape, ends)
    return "" if mark == close and (yield from took(tape, close)) else words


LISTED = form_of(Frame("[", "]", place="line", fences=("", "python", "py", "tool_code", "tool_call")))
_LISTED_AND_OFFERED = form_of(Frame("[", "]", place="line", offered=True))
LLAMA_4 = form_of(Frame("<|python_start|>", "<|python_end|>"))
LFM_2 = form_of(Frame("<|tool_call_start|>", "<|tool_call_end|>", echoes=True))
OLMO_3 = form_of(Frame("<function_calls>", "</function_calls>", place="line", fences=("", "xml")))
FORMS = (LISTED, LLAMA_4, LFM_2, OLMO_3)


def _speller(before: str, between: str, after: str) -> Callable[[Sequence[Call]], str]:
    def spell(calls: Sequence[Call]) -> str:
        written = between.join(spelled(call.name, call.arguments) for call in calls)
        return f"{before}{written}{after}" if calls else ""

    return spell


def _dialect(
    name: str, forms: tuple[Form, ...], around: tuple[str, str, str], several: str, noise: tuple[str, ...] = ()
) -> TextDialect:
    spell = _speller(*around)
    example = spell([Call("", "TOOL", {"ARGUMENT": "VALUE"})])
    lesson = f"To call tools, write this, in Python's syntax, arguments by name and as literals:\n{example}\n{several}"
    return TextDialect(name, forms, lesson, spell, noise=noise)


_COMMAS = "Put several calls into the list, with commas between them."
_LINES = "Write several calls on lines of their own."
_ROWS = (
    _dialect("pythonic", (LISTED, LLAMA_4), ("[", ", ", "]"), _COMMAS, ("<|python_end|>", "<|eom_id|>", "<|eot_id|>")),
    _dialect(
        "pythonic_llama4",
        (LLAMA_4, LISTED, BARE),
        ("<|python_start|>[", ", ", "]<|python_end|>"),
        _COMMAS,
        ("<|python_start|>", "<|python_end|>", "<|eom|>", "<|eot|>"),
    ),
    _dialect(
        "lfm2_pythonic",
        (LFM_2, _LISTED_AND_OFFERED),
        ("<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
        _COMMAS,
        ("<|tool_call_end|>", "<|im_end|>"),
    ),
    _dialect("olmo3_pythonic", (OLMO_3,), ("<function_calls>", "\n", "</function_calls>"), _LINES, ("<|im_end|>",)),
)
DIALECTS = {row.name: row for row in _ROWS}
