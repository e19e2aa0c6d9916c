"""What a program writes for a terminal, as plain text that arrives in pieces: no colours, no spinners, no progress bars. Pure.

Of a line that is written over and over only the last is kept. What was given can't be taken back, so from the first return of
the carriage on a line waits until it is over.
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


class Plain:
    """Reads the output of one program."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._held = ""  # the beginning of a sequence
        self._line: list[str] | None = None  # a line that is being rewritten
        self._open = False  # whether something of the line was given already

    def feed(self, data: bytes) -> str:
        """What is certain after this piece."""
        text = self._held + self._decode(data)
        self._held = ""
        if text.isprintable():
            return self._added(text)
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _MOST_HELD))
        if unfinished is not None:
            self._held = text[unfinished.start() :]
            text = text[: unfinished.start()]
        return self._shown(text)

    def close(self) -> str:
        """What is left when the program is over."""
        rest = self._shown(self._decode(b"", final=True))
        line, self._line = self._line, None
        return rest + self._ended(line)

    def _shown(self, text: str) -> str:
        marked = _SEQUENCES.sub(lambda found: _AGAIN if found["rewrites"] else "", text.replace("\x00", ""))
        first, *others = marked.split("\n")
        given = [self._part(first)]
        for part in others:
            line, self._line = self._line, None
            given += [self._ended(line), "\n"]
            self._open = False
            given.append(self._part(part))
        return "".join(given)

    def _part(self, text: str) -> str:
        """Some of a line."""
        _, again, after = text.rpartition(_AGAIN)
        if again:
            self._line = []
        return self._added(_CONTROLS.sub("", after if again else text))

    def _added(self, text: str) -> str:
        if self._line is not None:
            self._line.append(text)
            return ""
        self._open = self._open or bool(text)
        return text

    def _ended(self, line: list[str] | None) -> str:
        """The last of a rewritten line. Where the first of it is given already, it gets a line of its own."""
        text = "".join(line or ())
        return f"\n{text}" if text and self._open else text
