"""Reads an HTTP response that arrived complete in one piece, as most do that aren't streamed: a success of a known length.

Anything else is left to the parser of the connection (`connections`), which also decides what is no HTTP.
"""

import re
from collections.abc import Mapping

_NAME, _VALUE = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++", r"[^\r\n\0]*+"  # without folded and malformed fields
_HEAD = re.compile(rf"HTTP/1\.1 200 [^\r\n]*+((?:\r\n{_NAME}:{_VALUE})*)\r\n\r\n".encode())
_FIELD = re.compile(rf"\r\n({_NAME}):({_VALUE})")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([^\r]*?)[ \t]*(?=\r|\Z)")
# A response with one of these is more than its bytes, its connection doesn't stay open, or it is a web page.
_KEEPS = rb"[ \t]*keep-alive[ \t]*(?:\r|\Z)"
_BEYOND = re.compile(
    rb"\r\n(?:transfer-encoding:|content-encoding:|upgrade:|connection:(?!%b)|content-type:[ \t]*text/html)" % _KEEPS
)


class CompleteResponse:
    """A success that is there already, and no web page: its head and its body in one, each as an exchange reads them."""

    __slots__ = ("_body", "_fields")

    code = 200

    def __init__(self, fields: bytes, body: bytes) -> None:
        self._fields = fields
        self._body = body

    @property
    def headers(self) -> Mapping[str, str]:
        """Its fields, with names in lower case."""
        fields = _FIELD.findall(self._fields.decode("utf-8", "surrogateescape"))
        return {name.lower(): value.strip() for name, value in fields}

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


def read_complete_response(data: bytes) -> CompleteResponse | None:
    """Return the response, if these bytes are all of it and its connection stays open; else None."""
    head = _HEAD.match(data)
    if head is None:
        return None
    fields, body = head[1].lower(), data[head.end() :]
    if _LENGTH.findall(fields) != [b"%d" % len(body)] or _BEYOND.search(fields):
        return None
    return CompleteResponse(head[1], body)
