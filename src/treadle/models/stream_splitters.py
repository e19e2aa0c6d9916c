"""Splits a stream of bytes into payloads: the data of server-sent events, lines of JSON, or the binary frames of AWS.

Pure: pieces in, complete payloads out, in time linear in the length of the stream. The wires interpret the payloads.
"""

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct, error
from zlib import crc32

from msgspec.json import encode

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineSplitter:
    """Splits pieces into complete lines; a line ends in LF, CRLF or CR."""

    __slots__ = ("_held", "_parts")

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of a line that has not ended yet
        self._held = False  # a CR at the end of a piece: an LF may follow

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that this piece completes."""
        if self._held or b"\r" in piece:
            piece = self._unify_line_ends(piece)
        lines = piece.split(b"\n")
        parts = self._parts
        if parts:
            if len(lines) == 1:
                parts.append(piece)
                return []
            parts.append(lines[0])
            lines[0] = b"".join(parts)
            parts.clear()
        last = lines.pop()
        if last:
            parts.append(last)
        return lines

    def close(self) -> bytes:
        """Return what came after the last line."""
        rest = b"".join(self._parts)
        self._parts.clear()
        return rest

    def _unify_line_ends(self, piece: bytes) -> bytes:
        if self._held:
            piece = b"\r" + piece
        self._held = piece.endswith(b"\r")
        if self._held:
            piece = piece[:-1]
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class JsonLinesSplitter:
    """JSON lines: each non-blank line is a payload."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines = LineSplitter()

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the payloads that this piece completes."""
        return [line for line in self._lines.feed(piece) if line.strip()]

    def close(self) -> list[bytes]:
        """Return the last payload, if no line end came after it."""
        rest = self._lines.close()
        return [rest] if rest.strip() else []


class SseSplitter:
    """Server-sent events: the data of each event is a payload. Comments, ids and retry times are dropped.

    An event named `error` and a field named `error` (llama.cpp has both) are returned as `{"error": …}`.
    """

    __slots__ = ("_data", "_failed", "_lines")

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._data: list[bytes] = []
        self._failed = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the payloads that this piece completes."""
        payloads: list[bytes] = []
        data = self._data
        for line in self._lines.feed(piece):
            if line.startswith(b"data: "):
                data.append(line[6:])
            elif line:
                self._add_field(line)
            elif data:
                payloads.append(self._take_payload())
            else:
                self._failed = False
        return payloads

    def close(self) -> list[bytes]:
        """Return the last payload, if no blank line came after it. If it was cut, it is no JSON, and its reader reports that."""
        self._add_field(self._lines.close())
        return [self._take_payload()] if self._data else []

    def _take_payload(self) -> bytes:
        data = self._data
        payload = data[0] if len(data) == 1 else b"\n".join(data)
        data.clear()
        if self._failed:
            self._failed = False
            return payload if b'"error"' in payload else b'{"error":%b}' % payload
        return payload

    def _add_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name.removeprefix(_BYTE_ORDER_MARK):
            case b"data":
                self._data.append(value)
            case b"event":
                self._failed = value == b"error"
            case b"error":
                self._failed = True
                self._data.append(value)
            case _:
                pass


_PRELUDE = Struct(">III")  # length of the frame, length of its headers, checksum of these two
_CHECKSUM = Struct(">I")
_LENGTH = Struct(">H")
_LARGEST_FRAME = 32 * 1024 * 1024  # bytes; AWS sends none above 24 MB
_TEXT = 7
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # of header values, by their type; the others say their length


class AwsEventSplitter:
    """The binary event stream of AWS: each frame is a payload, `{EVENT TYPE: PAYLOAD}`. Checksums are verified.

    An exception and an error are returned as `{"error": {"type": …}}`. A damaged frame is returned as text that isn't JSON, so
    that the reader reports it; nothing comes after it.
    """

    __slots__ = ("_buffer", "_damaged", "_needed")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed = _PRELUDE.size  # bytes of the buffer before there is more to read
        self._damaged = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the payloads that this piece completes."""
        payloads: list[bytes] = []
        if self._damaged:
            return payloads
        buffer = self._buffer
        if buffer or len(piece) < self._needed:
            buffer += piece
            if len(buffer) < self._needed:
                return payloads
            piece = bytes(buffer)
            buffer.clear()
        place = 0
        try:
            while (end := place + _read_length(piece, place)) <= len(piece):
                payloads.append(_decode_frame(piece, place, end))
                place = end
        except (ValueError, IndexError, error) as reason:
            self._damaged = True
            payloads.append(f"a damaged frame ({reason})".encode())
        else:
            buffer += piece[place:]
            self._needed = end - place
        return payloads

    def close(self) -> list[bytes]:
        """Return nothing: an incomplete frame is no payload, and the reader reports that the end of the stream is missing."""
        return []


def _read_length(data: bytes, place: int) -> int:
    """Return the length of a frame, or of its prelude if there is less. Its checksum keeps a wrong length from being awaited."""
    if len(data) - place < _PRELUDE.size:
        return _PRELUDE.size
    total, headers, checksum = _PRELUDE.unpack_from(data, place)
    if crc32(data[place : place + _PRELUDE.size - _CHECKSUM.size]) != checksum:
        raise ValueError("wrong checksum of its length")
    if not _PRELUDE.size + headers + _CHECKSUM.size <= total <= _LARGEST_FRAME:
        raise ValueError("impossible length")
    return total


def _decode_frame(data: bytes, place: int, end: int) -> bytes:
    checked = end - _CHECKSUM.size
    if crc32(data[place:checked]) != _CHECKSUM.unpack_from(data, checked)[0]:
        raise ValueError("wrong checksum")
    body = place + _PRELUDE.size + _PRELUDE.unpack_from(data, place)[1]
    before, after = _frame_of(data[place + _PRELUDE.size : body])
    return b"%b%b%b" % (before, data[body:checked] or b"{}", after) if after else before


@lru_cache(32)  # a stream has a few kinds of events, and each of them always the same headers
def _frame_of(headers: bytes) -> tuple[bytes, bytes]:
    """Return what stands before and after the payload of a frame with these headers; nothing after it if they are all there is."""
    fields = dict(_read_headers(headers))
    match fields.get(":message-type"):
        case "exception":
            return b'{"error":{"type":%b,"error":' % encode(fields.get(":exception-type", "")), b"}}"
        case "error":
            said = {"type": fields.get(":error-code", ""), "message": fields.get(":error-message", "")}
            return b'{"error":%b}' % encode(said), b""
        case _:
            return b"{%b:" % encode(fields.get(":event-type", "")), b"}"


def _read_headers(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the headers with text values. Other types are skipped: the headers that describe a frame are text."""
    place = 0
    while place < len(data):
        name = data[place + 1 : place + 1 + data[place]]
        place += 1 + len(name)
        kind = data[place]
        place += 1
        size = _SIZES.get(kind)
        if size is None:
            (size,) = _LENGTH.unpack_from(data, place)
            place += _LENGTH.size
        if kind == _TEXT:
            yield name.decode(), data[place : place + size].decode()
        place += size
    if place > len(data):
        raise ValueError("headers that are too long")


StreamSplitter = SseSplitter | JsonLinesSplitter | AwsEventSplitter
