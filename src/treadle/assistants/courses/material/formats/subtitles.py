"""Subtitles (.srt, .vtt): what is said, joined into sentences and paragraphs, with the times it is said at."""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle.assistants.courses.material.formats.flow import Flow
from treadle.assistants.courses.material.tidy import plain
from treadle.assistants.courses.material.values import Material
from treadle.passages import Unreadable, text_of

if TYPE_CHECKING:
    from pysubs2 import SSAEvent

PAUSE = 3_000  # milliseconds of silence that begin a paragraph
ROLLING = 500  # milliseconds within which a line that is shown again is the same

_BLANK = re.compile(r"\n{2,}")
_TAG = re.compile(r"</?(?:[biusvc]|lang|ruby|rt|font|span)(?=[\s.>/])[^<>]*>|<br\s*/?>|<\d[\d:.]*>|\{\\[^{}]*\}", re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+(?P<name>[^<>]+)>", re.IGNORECASE)
_TURN = re.compile(r">>+\s*|[-–—]\s+(?=\S)")
_BACKSLASH = "\ue000"  # stands for one on its way through the library, to which `\N` is the end of a line


class _Cue(Struct, frozen=True):
    """What is shown at a time, line by line. `speaker` is who says it, if that is known."""

    start: int
    end: int
    lines: tuple[str, ...]
    speaker: str = ""

    @property
    def at(self) -> str:
        """When it is shown, in hours, minutes and seconds."""
        seconds = self.start // 1_000
        return f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def read_srt(data: bytes) -> Material:
    """Subtitles as SubRip writes them."""
    return _read(_BLANK.sub("\n\n", plain(text_of(data))), "srt")


def read_vtt(data: bytes) -> Material:
    """Subtitles of the web."""
    return _read(_cues_only(plain(text_of(data))), "vtt")


def _read(text: str, form: str) -> Material:
    from pysubs2 import SSAFile

    events = SSAFile.from_string(text.replace("\\", _BACKSLASH), form, keep_html_tags=True)
    cues = [_cue(event) for event in sorted(events, key=lambda event: event.start)]
    if not any(cue.lines for cue in cues):
        raise Unreadable("there are no subtitles in it")
    return _flow(list(_unrolled(cues))).material()


def _cues_only(text: str) -> str:
    """The cues: blocks with a time in them, from that on. Notes, styles and the names of cues are none."""
    blocks = [block.split("\n") for block in _BLANK.split(text)]
    timed = [(lines, next((number for number, line in enumerate(lines) if "-->" in line), None)) for lines in blocks]
    return "\n\n".join("\n".join(lines[number:]) for lines, number in timed if number is not None)


def _cue(event: "SSAEvent") -> _Cue:
    text = event.text.replace(r"\N", "\n").replace(_BACKSLASH, "\\")
    voice = _VOICE.search(text)
    lines = [" ".join(unescape(_TAG.sub("", line)).split()) for line in text.split("\n")]
    return _Cue(event.start, event.end, tuple(line for line in lines if line), voice["name"].strip() if voice else "")


def _unrolled(cues: Sequence[_Cue]) -> Iterator[_Cue]:
    """The cues without lines that were already there in the one before, as captions have that roll up or grow."""
    before: tuple[str, ...] = ()
    end = -ROLLING
    for cue in cues:
        rolling = cue.start - end < ROLLING
        yield _Cue(cue.start, cue.end, _fresh(before, cue.lines) if rolling else cue.lines, cue.speaker)
        before, end = cue.lines or before, cue.end


def _fresh(before: tuple[str, ...], lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that are new."""
    for count in range(min(len(before), len(lines)), 0, -1):
        if before[-count:] == lines[:count]:
            return lines[count:]
    if before and lines and lines[0].startswith(f"{before[-1]} "):
        return (lines[0][len(before[-1]) + 1 :], *lines[1:])
    return lines


def _flow(cues: Sequence[_Cue]) -> Flow:
    """The cues in paragraphs: each ends with a pause, or when somebody else speaks."""
    flow = Flow()
    speaker, end = "", 0
    for cue in (each for each in cues if each.lines):
        changed = cue.speaker != speaker
        if changed or cue.start - end >= PAUSE:
            flow.end_paragraph()
        if changed and cue.speaker:
            flow.add(f"{cue.speaker}:", cue.at)
        for line in cue.lines:
            if turn := _TURN.match(line):
                flow.end_paragraph()
            flow.add(line[turn.end() :] if turn else line, cue.at)
        speaker, end = cue.speaker, cue.end
    return flow
