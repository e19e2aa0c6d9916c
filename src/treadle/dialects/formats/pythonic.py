"""Calls in Python syntax, in a list or between tags: `[ls(path="."), read_file(path="a", start=1)]`.

A member of the family is a row in this module: what opens and closes its frames. `python_calls` reads a call. Models that
were taught Python sometimes write JSON between the same tags, which is accepted as well.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from treadle.core.calls import Call, Written
from treadle.dialects.dialect import TextDialect
from treadle.dialects.formats.bare_json import BARE
from treadle.dialects.forms import CallMatch, Form, OfferedTools, Placement, take_frame_end
from treadle.dialects.json_calls import calls_in_cut, calls_in_text
from treadle.dialects.python_calls import read_python_call, spell_python_call
from treadle.dialects.scanner import JsonEnding, Markers, Reading, Tape, peek, take_if_next, take_run, take_until, take_value

_NAME = re.compile(r"[\w.:/-]+")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"


class PythonicFrame(Struct, frozen=True):
    """The frame around calls.

    offered  only offered tools count, whatever the dialect forwards: only their names identify these as calls
    echoes   the content of the frame may be repeated after it, including the closing mark
    place, fences  see `Form`
    """

    open: str
    close: str
    place: Placement = "anywhere"
    fences: tuple[str, ...] = ()
    offered: bool = False
    echoes: bool = False

    @property
    def bare(self) -> bool:
        """Whether it is nothing but a list, which Markdown and JSON have too."""
        return self.open == "["


_BETWEEN = re.compile(r"[\s,;\[\]]+")
_BETWEEN_BARE = re.compile(r"[\s,]+")


class _FrameReader:
    """Reads the calls in one frame."""

    __slots__ = ("_frame", "_offer", "_tape", "calls", "rest", "sound")

    def __init__(self, tape: Tape, frame: PythonicFrame, offer: OfferedTools) -> None:
        self._tape = tape
        self._frame = frame
        self._offer = offer
        self.calls: list[Written] = []
        self.sound = False  # whether one of them makes sense, as far as it was written
        self.rest = ""  # what came after them, and is none

    def read(self) -> Reading[bool]:
        """Take all calls; return whether the frame holds calls."""
        ending: JsonEnding = "whole"
        while ending == "whole":
            yield from take_run(self._tape, _BETWEEN_BARE if self._frame.bare else _BETWEEN)
            first = yield from peek(self._tape)
            if first == "{" and not self._frame.bare:
                ending = yield from self._read_json()
            elif _NAME.match(first):
                ending = yield from self._read_python((yield from take_run(self._tape, _NAME)))
            else:
                break
        return ending != "broken" and self._is_accepted()

    def _is_accepted(self) -> bool:
        if not self.calls:
            return not self._frame.bare
        return self._offer.heeds(call.name for call in self.calls) and (self.sound or not self._frame.bare)

    def _read_python(self, spelled_name: str) -> Reading[JsonEnding]:
        tape, frame = self._tape, self._frame
        name = _strip_module(spelled_name, self._offer)
        if not (yield from take_if_next(tape, "(")):
            self.rest = spelled_name
            return "cut" if self.calls and (frame.place == "anywhere" or not (yield from peek(tape))) else "broken"
        if frame.bare and not self.calls and not self._offer.heeds((name,)):
            return "broken"
        call = yield from read_python_call(tape, name, "" if frame.bare else frame.close, self._offer)
        if call.ending != "broken":
            self.calls.append(call.written)
            self.sound = self.sound or call.sound
        return call.ending

    def _read_json(self) -> Reading[JsonEnding]:
        start = self._tape.place()
        ending = yield from take_value(self._tape, self._tape.take(1))
        found = (calls_in_cut if ending == "cut" else calls_in_text)(self._tape.held_since(start), self._offer)
        self.calls += found.calls if found else ()
        return ending if found else "broken"


def _strip_module(name: str, offer: OfferedTools) -> str:
    """Return the tool that is meant; some models write a module before its name."""
    last = name.rpartition(".")[2]
    return last if offer.has(last) and not offer.has(name) else name


def pythonic_form(frame: PythonicFrame) -> Form:
    """Return the form of calls in this frame."""
    ends = Markers((frame.open, frame.close))

    def read(tape: Tape, mark: str, offer: OfferedTools) -> Reading[CallMatch | None]:
        items = _FrameReader(tape, frame, offer.declared if frame.offered else offer)
        if not (yield from items.read()):
            return None
        ended = yield from take_frame_end(tape, frame.open, frame.close)
        if not ended and (frame.place == "line" or not items.calls):
            return None
        echo = (yield from _skip_echo(tape, ends, frame.close)) if frame.echoes else ""
        return CallMatch(tuple(items.calls), text=items.rest + echo)

    return Form(
        (frame.open,),
        read,
        place=frame.place,
        then=_LETTERS if frame.bare else _LETTERS + "[{",
        close="" if frame.bare else frame.close,
        fences=frame.fences,
    )


def _skip_echo(tape: Tape, ends: Markers, close: str) -> Reading[str]:
    """Skip a list that is repeated and closed once more. If it only resembles that, it is text."""
    if (yield from peek(tape)) != "[":
        return ""
    words, mark = yield from take_until(tape, ends)
    return "" if mark == close and (yield from take_if_next(tape, close)) else words


LISTED = pythonic_form(PythonicFrame("[", "]", place="line", fences=("", "python", "py", "tool_code", "tool_call")))
_LISTED_AND_OFFERED = pythonic_form(PythonicFrame("[", "]", place="line", offered=True))
LLAMA_4 = pythonic_form(PythonicFrame("<|python_start|>", "<|python_end|>"))
LFM_2 = pythonic_form(PythonicFrame("<|tool_call_start|>", "<|tool_call_end|>", echoes=True))
OLMO_3 = pythonic_form(PythonicFrame("<function_calls>", "</function_calls>", place="line", fences=("", "xml")))
FORMS = (LISTED, LLAMA_4, LFM_2, OLMO_3)


def _make_speller(before: str, between: str, after: str) -> Callable[[Sequence[Call]], str]:
    def spell(calls: Sequence[Call]) -> str:
        written = between.join(spell_python_call(call.name, call.arguments) for call in calls)
        return f"{before}{written}{after}" if calls else ""

    return spell


def _make_dialect(
    name: str, forms: tuple[Form, ...], around: tuple[str, str, str], several: str, noise: tuple[str, ...] = ()
) -> TextDialect:
    spell = _make_speller(*around)
    example = spell([Call("", "TOOL", {"ARGUMENT": "VALUE"})])
    lesson = f"To call tools, write this, in Python's syntax, arguments by name and as literals:\n{example}\n{several}"
    return TextDialect(name, forms, lesson, spell, noise=noise)


_COMMAS = "Put several calls into the list, with commas between them."
_LINES = "Write several calls on lines of their own."
_ROWS = (
    _make_dialect("pythonic", (LISTED, LLAMA_4), ("[", ", ", "]"), _COMMAS, ("<|python_end|>", "<|eom_id|>", "<|eot_id|>")),
    _make_dialect(
        "pythonic_llama4",
        (LLAMA_4, LISTED, BARE),
        ("<|python_start|>[", ", ", "]<|python_end|>"),
        _COMMAS,
        ("<|python_start|>", "<|python_end|>", "<|eom|>", "<|eot|>"),
    ),
    _make_dialect(
        "lfm2_pythonic",
        (LFM_2, _LISTED_AND_OFFERED),
        ("<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
        _COMMAS,
        ("<|tool_call_end|>", "<|im_end|>"),
    ),
    _make_dialect("olmo3_pythonic", (OLMO_3,), ("<function_calls>", "\n", "</function_calls>"), _LINES, ("<|im_end|>",)),
)
DIALECTS = {row.name: row for row in _ROWS}
