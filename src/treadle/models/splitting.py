"""A stream of bytes cut into what a server meant: the data of server-sent events, or lines of JSON.

Pure: pieces in, complete payloads out, in time linear in the length of the stream. What a payload says is the wire's business.
"""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines:
    """Complete lines, whatever the pieces they come in; a line ends in LF, CRLF or CR."""

    __slots__ = ("_held", "_parts")

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of a line that has not ended yet
        self._held = False  # a CR at the end of a piece: an LF may follow

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that this piece completes."""
        if self._held or b"\r" in piece:
            piece = self._unified(piece)
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
        """What came after the last line."""
        rest = b"".join(self._parts)
        self._parts.clear()
        return rest

    def _unified(self, piece: bytes) -> bytes:
        if self._held:
            piece = b"\r" + piece
        self._held = piece.endswith(b"\r")
        if self._held:
            piece = piece[:-1]
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class Records:
    """JSON lines: each line that isn't blank is a payload."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines = Lines()

    def feed(self, piece: bytes) -> list[bytes]:
        """The payloads that this piece completes."""
        return [line for line in self._lines.feed(piece) if line.strip()]

    def close(self) -> list[bytes]:
        """The last payload, where no line end came after it."""
        rest = self._lines.close()
        return [rest] if rest.strip() else []


class Events:
    """Server-sent events: the data of each event is a payload. Comments, ids and retry times are dropped.

    An event named `error` and a field named `error` (llama.cpp has both) come out as `{"error": …}`.
    """

    __slots__ = ("_data", "_failed", "_lines")

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[bytes] = []
        self._failed = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The payloads that this piece completes."""
        payloads: list[bytes] = []
        data = self._data
        for line in self._lines.feed(piece):
            if line.startswith(b"data: "):
                data.append(line[6:])
            elif line:
                self._field(line)
            elif data:
                payloads.append(self._payload())
            else:
                self._failed = False
        return payloads

    def close(self) -> list[bytes]:
        """The last payload, where no blank line came after it. If it was cut, it is no JSON, and its reader will say so."""
        self._field(self._lines.close())
        return [self._payload()] if self._data else []

    def _payload(self) -> bytes:
        data = self._data
        payload = data[0] if len(data) == 1 else b"\n".join(data)
        data.clear()
        if self._failed:
            self._failed = False
            return payload if b'"error"' in payload else b'{"error":%b}' % payload
        return payload

    def _field(self, line: bytes) -> None:
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


Splitter = Events | Records
