"""Text for programs and from them: a request as one plain text, and terminal output as plain text while it streams. Pure.

Output has no colours, spinners or progress bars. Of a line that is overwritten repeatedly only the last version is kept. Text
that was returned can't be retracted, so from the first carriage return on a line waits until it is complete.
"""

import re
from codecs import getincrementaldecoder
from typing import assert_never

import msgspec

from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.messages import Message, Part, Quote, Summary, Text, Thinking, text_of
from treadle.core.requests import Request

_STRING = r"[^\x07\x1b]*"  # what a control string holds
_SEQUENCES = re.compile(
    r"(?P<rewrites>\x1b\[(?:[12]K|1?G|[0-9;]*H|[123]J|[0-9]*F)|(?<!\r)\r++(?!\n))"  # back to the start, or wiped out
    rf"|\x1b[\]PX^_]{_STRING}(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[ -/]*[0-~]"
)
_UNFINISHED = re.compile(rf"\x1b[\]PX^_]{_STRING}\x1b?\Z|\x1b\[[0-?]*[ -/]*\Z|\x1b[ -/]*\Z|(?<!\r)\r+\Z")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_AGAIN = "\x00"  # stands for a line begun again; the program's own are dropped before
_MOST_HELD = 4096  # characters of an unfinished sequence before it is taken for words


class TerminalText:
    """Reads the output of one program."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._held = ""  # the beginning of a sequence
        self._line: list[str] | None = None  # a line that is being rewritten
        self._open = False  # whether something of the line was given already

    def feed(self, data: bytes) -> str:
        """Return what is certain after this piece."""
        text = self._held + self._decode(data)
        self._held = ""
        if text.isprintable():
            return self._add_text(text)
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _MOST_HELD))
        if unfinished is not None:
            self._held = text[unfinished.start() :]
            text = text[: unfinished.start()]
        return self._clean(text)

    def close(self) -> str:
        """Return what is left at the end of the output."""
        rest = self._clean(self._decode(b"", final=True))
        line, self._line = self._line, None
        return rest + self._finish_line(line)

    def _clean(self, text: str) -> str:
        marked = _SEQUENCES.sub(lambda found: _AGAIN if found["rewrites"] else "", text.replace("\x00", ""))
        first, *others = marked.split("\n")
        given = [self._add_part(first)]
        for part in others:
            line, self._line = self._line, None
            given += [self._finish_line(line), "\n"]
            self._open = False
            given.append(self._add_part(part))
        return "".join(given)

    def _add_part(self, text: str) -> str:
        """Add a part of a line."""
        _, again, after = text.rpartition(_AGAIN)
        if again:
            self._line = []
        return self._add_text(_CONTROLS.sub("", after if again else text))

    def _add_text(self, text: str) -> str:
        if self._line is not None:
            self._line.append(text)
            return ""
        self._open = self._open or bool(text)
        return text

    def _finish_line(self, line: list[str] | None) -> str:
        """Return the last version of a rewritten line. If its beginning was returned already, it gets a line of its own."""
        text = "".join(line or ())
        return f"\n{text}" if text and self._open else text


_SPEAKERS = re.compile(r"^(?=(?:System|User|Assistant|Tool results):)", re.MULTILINE)


def to_plain_prompt(request: Request) -> str:
    """Return a request as text, ending where the model is to continue."""
    said = [_format_turn("System", request.instructions), *map(_format_message, request.history)]
    if request.note:
        said = _append_note(said, request)
    return "\n\n".join([*filter(None, said), "Assistant:"])


def _append_note(said: list[str], request: Request) -> list[str]:
    """Append the note at the end; to the user's message if that is the last one."""
    note = f"[{request.note}]"
    if request.history and request.history[-1].role == "person" and said[-1]:
        return [*said[:-1], f"{said[-1]}\n\n{note}"]
    return [*said, _format_turn("User", note)]


def _format_message(message: Message) -> str:
    match message.role:
        case "person":
            return _format_turn("User", _format_user_text(message))
        case "model":
            return _format_turn("Assistant", "\n".join(filter(None, map(_format_part, message.parts))))
        case "tools":
            return _format_turn("Tool results", "\n\n".join(filter(None, map(_format_part, message.parts))), "\n")
        case _:
            assert_never(message.role)


def _format_user_text(message: Message) -> str:
    """Return a user message with labels in place of media."""
    if not any(isinstance(part, Media) for part in message.parts):
        return text_of(message.parts)
    return "\n".join(filter(None, map(_format_part, message.parts)))


def _format_part(part: Part) -> str:
    match part:
        case Text() | Quote() | Summary():
            return part.text
        case Thinking() | Opaque():
            return ""
        case Media():
            return part.label
        case Call():
            return f"[called {part.name} with {msgspec.json.encode(part.arguments).decode()}]"
        case Result():
            return f"{part.name} ({part.call_id}){' failed' if part.problem else ''}:\n{part.content}"
        case _:
            assert_never(part)


def _format_turn(speaker: str, words: str, gap: str = " ") -> str:
    """Return one speaker's turn. A line that looks like another speaker's turn is indented, so that it isn't mistaken."""
    return f"{speaker}:{gap}{_SPEAKERS.sub(' ', words)}" if words else ""
