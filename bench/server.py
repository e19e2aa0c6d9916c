"""The mock model server: chat completions and four other wires, told apart by the path, from ready-made bytes.

It never parses a request: the scenario's label and the replies already in it decide.
Prints its port, then serves until its standard input closes. Not a server for anything else.
"""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial

from bench import replies, wire_replies
from bench.processes import SERVER_CORE, allow_many_sockets, pin
from bench.replies import Reply
from bench.scenario import Scenario

_END_OF_HEAD = b"\r\n\r\n"
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

_known: dict[tuple[bytes, bytes, int, bool], Reply] = {}


def answer(path: bytes, body: bytes) -> Reply:
    """The reply to one request, built once per kind of request and then remembered."""
    start = body.find(b"bench-r")
    # The label ends at the blank that follows it in the prompt.
    label = body[start : body.find(b" ", start)]
    wire = wire_replies.wire_of(path)
    # A quote inside a JSON text is escaped, so this finds roles and kinds only, in any spacing.
    said = body.count(wire.mark if wire else b'"assistant"')
    streamed = wire_replies.streams(path) or b'"stream":true' in body or b'"stream": true' in body
    key = (path, label, said, streamed)
    if key not in _known:
        scenario = Scenario.parse(label.decode())
        build = replies.reply if wire is None else wire.reply
        _known[key] = build(scenario, said, streamed)
    return _known[key]


class Connection(asyncio.Protocol):
    """One keep-alive connection; one request at a time on it, as every client here does."""

    def __init__(self) -> None:
        self._buffer = b""
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a request is complete."""
        self._buffer = self._buffer + data if self._buffer else data
        if len(self._buffer) < self._missing:
            return
        request = self._take_request()
        if request is not None:
            self._send(*request)

    def _take_request(self) -> tuple[bytes, bytes] | None:
        end = self._buffer.find(_END_OF_HEAD)
        if end < 0:
            return None
        head = self._buffer[:end].lower()
        path = self._buffer[: self._buffer.find(b"\r\n")].split(b" ")[1]
        start = end + len(_END_OF_HEAD)
        self._missing = start + _content_length(head)
        if len(self._buffer) < self._missing:
            return None
        body = self._buffer[start : self._missing]
        self._buffer, self._missing = b"", 0
        return path, body

    def _send(self, path: bytes, body: bytes) -> None:
        try:
            found = answer(path, body)
        except ValueError as error:
            print(error, file=sys.stderr)
            self._transport.write(_BAD_REQUEST)
            self._transport.close()
            return
        if found.delay:
            self._loop.call_later(found.delay, self._write, found.writes)
        else:
            self._write(found.writes)

    def _write(self, writes: Sequence[bytes]) -> None:
        self._transport.write(writes[0])
        if len(writes) > 1:
            self._loop.call_soon(self._write, writes[1:])


def _content_length(head: bytes) -> int:
    _, _, after = head.partition(b"content-length:")
    return int(after.split(b"\r\n", 1)[0] or 0)


async def serve() -> None:
    """Listen on a free port of the loopback until the parent lets go."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, partial(sys.stdin.buffer.read))
    server.close()


if __name__ == "__main__":
    pin(SERVER_CORE)
    allow_many_sockets()
    asyncio.run(serve())
