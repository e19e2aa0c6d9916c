"""Reads an HTTP response that arrived complete in one piece, as most do that aren't streamed: a success of a known length.

Anything else is left to the parser of the connection (`connections`), which also decides what is no HTTP.
"""

import re

from msgspec import Struct

_BEGIN = b"HTTP/1.1 200 "
_END = b"\r\n\r\n"
_FIELD = re.compile(r"\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)(?=\r\n|\Z)")
_BEYOND = frozenset(("transfer-encoding", "content-encoding", "upgrade"))  # fields of a response that is more than its bytes


class CompleteHead(Struct, frozen=True):
    """The head of a response: its status and its fields, with names in lower case."""

    headers: dict[str, str]
    code: int = 200


class CompleteBody:
    """The body of a response that is there already."""

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body = body

    def take(self) -> bytes:
        """Return the body; empty once it was read."""
        body, self._body = self._body, b""
        return body

    async def readany(self) -> bytes:
        """Return the body as a stream does."""
        return self.take()

    def at_eof(self) -> bool:
        """Return whether there is nothing left to read."""
        return not self._body


def read_complete_response(data: bytes) -> tuple[CompleteHead, CompleteBody] | None:
    """Return the response, if these bytes are all of it and its connection stays open; else None."""
    end = data.find(_END)
    if end < 0 or not data.startswith(_BEGIN):
        return None
    head = data[:end].decode("utf-8", "surrogateescape")
    found = _FIELD.findall(head)
    headers = {name.lower(): value.strip() for name, value in found}
    if len(found) != head.count("\n") or len(headers) != len(found):  # a folded or malformed field, or one that comes twice
        return None
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()) or int(length) != len(data) - end - len(_END):
        return None
    if not _BEYOND.isdisjoint(headers) or headers.get("connection", "keep-alive").lower() != "keep-alive":
        return None
    return CompleteHead(headers), CompleteBody(data[end + len(_END) :])
