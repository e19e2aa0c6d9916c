"""Subtitles (.srt, .vtt): the spoken text, joined to sentences and paragraphs, with timestamps."""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle.assistants.courses.material.course_types import Material, normalize_material_text
from treadle.assistants.courses.material.formats.paragraphs import ParagraphBuilder
from treadle.passages import UnreadableDocument, decode_document

if TYPE_CHECKING:
    from pysubs2 import SSAEvent

PAUSE_MS = 3_000  # milliseconds of silence that begin a paragraph
ROLLING_MS = 500  # milliseconds within which a line that is shown again is the same

_BLANK = re.compile(r"\n{2,}")
_TAG = re.compile(r"</?(?:[biusvc]|lang|ruby|rt|font|span)(?=[\s.>/])[^<>]*>|<br\s*/?>|<\d[\d:.]*>|\{\\[^{}]*\}", re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+(?P<name>[^<>]+)>", re.IGNORECASE)
_TURN = re.compile(r">>+\s*|[-–—]\s+(?=\S)")
_BACKSLASH = "\ue000"  # stands for one on its way through the library, to which `\N` is the end of a line


class _Cue(Struct, frozen=True):
    """A cue, line by line. `speaker` is who says it, if known."""

    start: int
    end: int
    lines: tuple[str, ...]
    speaker: str = ""

    @property
    def at(self) -> str:
        """Its start time in hours, minutes and seconds."""
        seconds = self.start // 1_000
        return f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def read_srt(data: bytes) -> Material:
    """Parse SubRip subtitles."""
    return _parse_subtitles(_BLANK.sub("\n\n", normalize_material_text(decode_document(data))), "srt")


def read_vtt(data: bytes) -> Material:
    """Parse WebVTT subtitles."""
    return _parse_subtitles(_strip_non_cues(normalize_material_text(decode_document(data))), "vtt")


def _parse_subtitles(text: str, form: str) -> Material:
    from pysubs2 import SSAFile

    events = SSAFile.from_string(text.replace("\\", _BACKSLASH), form, keep_html_tags=True)
    cues = [_build_cue(event) for event in sorted(events, key=lambda event: event.start)]
    if not any(cue.lines for cue in cues):
        raise UnreadableDocument("there are no subtitles in it")
    return _build_paragraphs(list(_unroll_captions(cues))).material()


def _strip_non_cues(text: str) -> str:
    """Return the cues: blocks with a time, from there on. Notes, styles and cue names are dropped."""
    blocks = [block.split("\n") for block in _BLANK.split(text)]
    timed = [(lines, next((number for number, line in enumerate(lines) if "-->" in line), None)) for lines in blocks]
    return "\n\n".join("\n".join(lines[number:]) for lines, number in timed if number is not None)


def _build_cue(event: "SSAEvent") -> _Cue:
    text = event.text.replace(r"\N", "\n").replace(_BACKSLASH, "\\")
    voice = _VOICE.search(text)
    lines = [" ".join(unescape(_TAG.sub("", line)).split()) for line in text.split("\n")]
    return _Cue(event.start, event.end, tuple(line for line in lines if line), voice["name"].strip() if voice else "")


def _unroll_captions(cues: Sequence[_Cue]) -> Iterator[_Cue]:
    """Yield the cues without lines that the one before already had, as in roll-up captions."""
    before: tuple[str, ...] = ()
    end = -ROLLING_MS
    for cue in cues:
        rolling = cue.start - end < ROLLING_MS
        yield _Cue(cue.start, cue.end, _new_lines(before, cue.lines) if rolling else cue.lines, cue.speaker)
        before, end = cue.lines or before, cue.end


def _new_lines(before: tuple[str, ...], lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines that are new."""
    for count in range(min(len(before), len(lines)), 0, -1):
        if before[-count:] == lines[:count]:
            return lines[count:]
    if before and lines and lines[0].startswith(f"{before[-1]} "):
        return (lines[0][len(before[-1]) + 1 :], *lines[1:])
    return lines


def _build_paragraphs(cues: Sequence[_Cue]) -> ParagraphBuilder:
    """Join cues to paragraphs: each ends with a pause, or when the speaker changes."""
    flow = ParagraphBuilder()
    speaker, end = "", 0
    for cue in (each for each in cues if each.lines):
        changed = cue.speaker != speaker
        if changed or cue.start - end >= PAUSE_MS:
            flow.end_paragraph()
        if changed and cue.speaker:
            flow.add(f"{cue.speaker}:", cue.at)
        for line in cue.lines:
            if turn := _TURN.match(line):
                flow.end_paragraph()
            flow.add(line[turn.end() :] if turn else line, cue.at)
        speaker, end = cue.speaker, cue.end
    return flow
