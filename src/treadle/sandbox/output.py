"""Output of a command as plain text of bounded length: its beginning and its end, and how much is omitted between. Pure."""

import re
from codecs import getincrementaldecoder
from collections import deque

_DROPPED = bytes({*range(0x20), 0x7F} - set(b"\x07\t\n\r\x1b"))  # controls that print nothing
_STRING = r"[^\x07\x1b]*"
_SEQUENCES = re.compile(rf"\x1b(?:[\]PX^_]{_STRING}(?:\x07|\x1b\\)|\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])|\r(?=\n)")
_UNFINISHED = re.compile(rf"\x1b(?:[\]PX^_]{_STRING}\x1b?|\[[0-?]*[ -/]*|[ -/]*)\Z|\r\Z")
_MOST_HELD = 4096  # characters of an unfinished sequence before it is taken for words


class CommandOutput:
    """Buffer that decodes output in chunks and keeps at most `most` characters of it."""

    def __init__(self, most: int) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._held = ""
        self._head: list[str] = []
        self._room = most - most // 2
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._tail_most = most // 2
        self._out = 0

    def feed(self, data: bytes) -> str:
        """Return the plain text of a chunk, as far as it is certain."""
        text = self._held + self._decode(data.translate(None, _DROPPED))
        self._held = ""
        if not any(char in text for char in "\x07\r\x1b"):
            return self._keep(text)
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _MOST_HELD))
        if unfinished is not None:
            self._held = text[unfinished.start() :]
            text = text[: unfinished.start()]
        return self._keep(_plain(text))

    def close(self) -> str:
        """Return the rest when the command has ended."""
        rest, self._held = self._held + self._decode(b"", final=True), ""
        return self._keep(_plain(rest))

    @property
    def truncated(self) -> bool:
        """Whether something is omitted."""
        return self._out > 0

    @property
    def text(self) -> str:
        """The text that was kept."""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self._out:
            return head + tail
        return f"{head}\n… {self._out:,} characters left out …\n{tail}"

    def _keep(self, text: str) -> str:
        first, rest = text[: self._room], text[self._room :]
        if first:
            self._head.append(first)
            self._room -= len(first)
        if rest:
            self._add_to_tail(rest)
        return text

    def _add_to_tail(self, text: str) -> None:
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size > self._tail_most:
            oldest, over = self._tail.popleft(), self._tail_size - self._tail_most
            if len(oldest) > over:
                self._tail.appendleft(oldest[over:])
            gone = min(over, len(oldest))
            self._tail_size -= gone
            self._out += gone


def _plain(text: str) -> str:
    return _SEQUENCES.sub("", text).replace("\x1b", "").replace("\x07", "")
