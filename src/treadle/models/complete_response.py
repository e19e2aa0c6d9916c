"""Reads an HTTP response that arrived complete in one piece, as most do that aren't streamed: a success of a known length.

Anything else is left to the parser of the connection (`connections`), which also decides what is no HTTP.
"""

import re

from msgspec import Struct

_NAME, _VALUE = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", r"[^\r\n\0]*"
_HEAD = re.compile(rf"HTTP/1\.1 200 [^\r\n]*((?:\r\n{_NAME}:{_VALUE})*)\r\n\r\n".encode())  # without folded and malformed fields
_FIELD = re.compile(f"\r\n({_NAME}):({_VALUE})")
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
    head = _HEAD.match(data)
    if head is None:
        return None
    fields = _FIELD.findall(head[1].decode("utf-8", "surrogateescape"))
    headers = {name.lower(): value.strip() for name, value in fields}
    body = data[head.end() :]
    if headers.get("content-length") != str(len(body)) or len(headers) != len(fields):  # or a field that comes twice
        return None
    if not _BEYOND.isdisjoint(headers) or headers.get("connection", "keep-alive").lower() != "keep-alive":
        return None
    return CompleteHead(headers), CompleteBody(body)
