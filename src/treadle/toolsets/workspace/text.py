"""Decoding and encoding of file contents, so that an edit of one line leaves the bytes of all others as they were. Pure.

UTF-8, also with invalid bytes; UTF-16 with a byte order mark; anything else with zero bytes is binary.
"""

import re
from typing import Literal

from msgspec import Struct

_MARKS: tuple[tuple[bytes, Literal["utf-8", "utf-16-le", "utf-16-be"]], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_SNIFFED_BYTES = 8_000
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


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

    def encoded(self, text: str) -> bytes:
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
