"""Bytes of a file as text and back, so that an edit of one line leaves the bytes of all others as they were. Pure.

UTF-8, also with bytes in it that aren't; UTF-16 where the file says so at its beginning; anything with zero bytes else is binary.
"""

import re
from typing import Literal

from msgspec import Struct

_MARKS: tuple[tuple[bytes, Literal["utf-8", "utf-16-le", "utf-16-be"]], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_LOOKED_AT = 8_000
_LONE = re.compile("[\ud800-\udfff]")


class Text(Struct, frozen=True):
    """A file's text. Bytes that aren't UTF-8 are lone surrogates in it; `readable` shows them as a mark."""

    text: str
    encoding: Literal["utf-8", "utf-16-le", "utf-16-be"] = "utf-8"
    mark: bytes = b""

    @property
    def is_whole(self) -> bool:
        """Whether all bytes could be read as characters."""
        return self.readable == self.text

    @property
    def readable(self) -> str:
        """The text as it can be shown."""
        return readable(self.text)

    def encoded(self, text: str) -> bytes:
        """Another text as bytes of this file. UnicodeEncodeError where the encoding doesn't have its characters."""
        return self.mark + text.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")


def readable(text: str) -> str:
    """A text in which every byte that is no character is shown as U+FFFD."""
    return _LONE.sub("\ufffd", text)


def decode(data: bytes) -> Text | None:
    """The text of these bytes, or None if they are no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, mark)
    return None if b"\0" in data[:_LOOKED_AT] else _decoded(data, "utf-8", b"")


def _decoded(data: bytes, encoding: Literal["utf-8", "utf-16-le", "utf-16-be"], mark: bytes) -> Text | None:
    if encoding == "utf-8":
        return Text(data.decode(encoding, "surrogateescape"), encoding, mark)
    try:
        return Text(data.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        return None
