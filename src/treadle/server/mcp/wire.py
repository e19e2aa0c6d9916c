"""The process's own stdin and stdout, as the wire to one client. Whatever else writes to stdout gets stderr instead.

Reading and writing are done in threads that keep no process from ending; the SDK's own reader would until the client sends more.
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

from treadle.toolsets.threads import Threads

PIECE = 64 * 1024  # bytes
LAST_WORDS = 1.0  # seconds in which what was said last has to be taken

Heard = MemoryObjectReceiveStream[SessionMessage | Exception]
Said = MemoryObjectSendStream[SessionMessage]

_threads = Threads()


class Wire:
    """Two files of the system: what the client writes, and what it reads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._sending = anyio.Lock()

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[tuple[Heard, Said]]:
        """The streams that the SDK's server reads and writes, and closes at its end."""
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
                with anyio.move_on_after(LAST_WORDS, shield=True):
                    await written.wait()
                tasks.cancel_scope.cancel()

    async def _read(self, hearing: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        rest = b""
        with suppress(OSError, anyio.BrokenResourceError):
            async with hearing:
                while piece := await _threads.run(os.read, (self._source, PIECE), {}):
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in filter(bytes.strip, lines):
                        await self._heard(line, hearing)

    async def _heard(self, line: bytes, hearing: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass a message on. What is none is answered here: the SDK would drop it, and the client would wait for an answer."""
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await self._send(_refusal(line))
        else:
            await hearing.send(SessionMessage(message))

    async def _write(self, saying: MemoryObjectReceiveStream[SessionMessage], written: anyio.Event) -> None:
        with suppress(OSError):  # nobody reads any more
            async with saying:
                async for message in saying:
                    await self._send(message.message)
        written.set()

    async def _send(self, message: JSONRPCMessage) -> None:
        line = message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        async with self._sending:  # lines of two tasks must not mix
            await _threads.run(_write_all, (self._sink, line.encode()), {})


def _refusal(line: bytes) -> JSONRPCError:
    """The error for a line that is no message of JSON-RPC, with the id of the request where that can be read."""
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _error(None, PARSE_ERROR, f"Parse error: {error}")
    number = cast("dict[str, object]", said).get("id") if isinstance(said, dict) else None
    known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    return _error(known, INVALID_REQUEST, "Invalid Request: a line is a request, a notification or a response of JSON-RPC 2.0.")


def _error(number: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


def _write_all(sink: int, data: bytes) -> None:
    while data:
        data = data[os.write(sink, data) :]


def claim() -> Wire:
    """Take stdin and stdout for the wire alone: what else is printed goes to stderr, and what else reads finds an end."""
    sys.stdout.flush()
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    return wire
