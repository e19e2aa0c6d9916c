"""The process's stdin and stdout as the transport to one client. Other writes to stdout are redirected to stderr.

Reading and writing are done in daemon threads, which don't keep the process alive; the SDK's own reader would until
the client sends more.
"""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import cast

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from treadle.toolsets.threads import ThreadPool

CHUNK_SIZE = 64 * 1024  # bytes
FLUSH_TIMEOUT = 1.0  # seconds in which what was said last has to be taken

ReadStream = MemoryObjectReceiveStream[SessionMessage | Exception]
WriteStream = MemoryObjectSendStream[SessionMessage]

_threads = ThreadPool()


class StdioTransport:
    """Two file descriptors: what the client writes, and what it reads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._sending = anyio.Lock()

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[tuple[ReadStream, WriteStream]]:
        """Yield the streams that the SDK's server reads and writes, and closes at its end."""
        hearing, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, saying = anyio.create_memory_object_stream[SessionMessage](0)
        written = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, hearing)
            tasks.start_soon(self._write, saying, written)
            try:
                yield heard, said
            finally:
                heard.close()
                said.close()
                with anyio.move_on_after(FLUSH_TIMEOUT, shield=True):
                    await written.wait()
                tasks.cancel_scope.cancel()

    async def _read(self, hearing: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        rest = b""
        with suppress(OSError, anyio.BrokenResourceError):
            async with hearing:
                while piece := await _threads.run(os.read, (self._source, CHUNK_SIZE), {}):
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in filter(bytes.strip, lines):
                        await self._receive_line(line, hearing)

    async def _receive_line(self, line: bytes, hearing: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass a message on. An invalid one is answered here: the SDK would drop it, and the client would wait for a response."""
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await self._send(_parse_error(line))
        else:
            await hearing.send(SessionMessage(message))

    async def _write(self, saying: MemoryObjectReceiveStream[SessionMessage], written: anyio.Event) -> None:
        with suppress(OSError):  # the reader is gone
            async with saying:
                async for message in saying:
                    await self._send(message.message)
        written.set()

    async def _send(self, message: JSONRPCMessage) -> None:
        line = message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        async with self._sending:  # lines of two tasks must not mix
            await _threads.run(_write_all, (self._sink, line.encode()), {})


def _parse_error(line: bytes) -> JSONRPCError:
    """Return the error for a line that isn't a JSON-RPC message, with the request's id where that can be read."""
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _json_rpc_error(None, PARSE_ERROR, f"Parse error: {error}")
    number = cast("dict[str, object]", said).get("id") if isinstance(said, dict) else None
    known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    return _json_rpc_error(
        known, INVALID_REQUEST, "Invalid Request: a line is a request, a notification or a response of JSON-RPC 2.0."
    )


def _json_rpc_error(number: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


def _write_all(sink: int, data: bytes) -> None:
    while data:
        data = data[os.write(sink, data) :]


def claim_stdio() -> StdioTransport:
    """Claim stdin and stdout for the transport: other output goes to stderr, and other readers find an end of file."""
    sys.stdout.flush()
    wire = StdioTransport(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    return wire
