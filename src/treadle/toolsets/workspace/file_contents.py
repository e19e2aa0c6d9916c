"""File contents: encoded so that an edit of one line leaves the bytes of all others as they were, and which of them a run has read.

UTF-8, also with invalid bytes; UTF-16 with a byte order mark; anything else with zero bytes is binary.

An edit must be based on the current content, not on what a model remembers or imagines. `ReadTracker` is in memory: a run that
is resumed elsewhere has read nothing, and is asked to read again.
"""

import re
import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

from treadle.files.problems import FileChanged, FileNotRead, printable_name

_MARKS: tuple[tuple[bytes, Literal["utf-8", "utf-16-le", "utf-16-be"]], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_SNIFFED_BYTES = 8_000
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_RUNS = 256


class FileText(Struct, frozen=True):
    """A file's text. Invalid UTF-8 bytes are lone surrogates in it; `replace_surrogates` shows them as replacement characters."""

    text: str
    encoding: Literal["utf-8", "utf-16-le", "utf-16-be"] = "utf-8"
    mark: bytes = b""

    @property
    def is_whole(self) -> bool:
        """Whether all bytes could be decoded."""
        return self.readable == self.text

    @property
    def readable(self) -> str:
        """The text for display."""
        return replace_surrogates(self.text)

    def encode(self, text: str) -> bytes:
        """Encode another text for this file. Raises UnicodeEncodeError where the encoding doesn't have its characters."""
        return self.mark + text.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")


def replace_surrogates(text: str) -> str:
    """Return a text in which every undecodable byte is shown as U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def decode_file_text(data: bytes) -> FileText | None:
    """Decode bytes to text; None if they are binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_as(data[len(mark) :], encoding, mark)
    return None if b"\0" in data[:_SNIFFED_BYTES] else _decode_as(data, "utf-8", b"")


def _decode_as(data: bytes, encoding: Literal["utf-8", "utf-16-le", "utf-16-be"], mark: bytes) -> FileText | None:
    if encoding == "utf-8":
        return FileText(data.decode(encoding, "surrogateescape"), encoding, mark)
    try:
        return FileText(data.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        return None


class ReadRecord:
    """The files one run has read, each with the hash of what it read."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}

    def saw(self, path: str, data: bytes) -> None:
        """Record the file's current content: the run read it, or wrote it."""
        self._seen[path] = _hash(data)

    def forget(self, path: str) -> None:
        """Forget a deleted file."""
        self._seen.pop(path, None)

    def check(self, path: str, data: bytes) -> None:
        """Raise `FileNotRead` or `FileChanged` unless the run has read this content."""
        known = self._seen.get(path)
        if known is None:
            raise FileNotRead(
                f"{printable_name(path)} was not read yet in this run, so nothing was changed. Read it first, then edit it."
            )
        if known != _hash(data):
            raise FileChanged(
                f"{printable_name(path)} has changed since you read it, so nothing was changed. Read it again, then edit it."
            )

    def knows(self, path: str, data: bytes) -> bool:
        """Return whether the run has read exactly this content."""
        return self._seen.get(path) == _hash(data)


class ReadTracker:
    """The reads of each run; the least recently used runs are evicted."""

    def __init__(self, most: int = MAX_RUNS) -> None:
        self._runs: OrderedDict[str, ReadRecord] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()  # tools run in threads

    def of(self, run_id: str) -> ReadRecord:
        """Return what this run has read."""
        with self._lock:
            reads = self._runs.setdefault(run_id, ReadRecord())
            self._runs.move_to_end(run_id)
            while len(self._runs) > self._most:
                self._runs.popitem(last=False)
            return reads

    def knows(self, path: str, data: bytes) -> bool:
        """Return whether any run has read exactly this content."""
        with self._lock:
            return any(reads.knows(path, data) for reads in self._runs.values())


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
