"""Converts terminal output to plain text as it streams: no colours, no spinners, no progress bars. Pure.

Of a line that is overwritten repeatedly only the last version is kept. Text that was returned can't be retracted, so from the
first carriage return on a line waits until it is complete.
"""

import re
from codecs import getincrementaldecoder

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
