"""The process's stdin and stdout as the transport to one client.

Lines are read and written by `stdio_lines`: the SDK's own reader would keep the process alive until the client sends more.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import cast

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from treadle.server.stdio_lines import StdioLines, claim_stdio_lines

FLUSH_TIMEOUT = 1.0  # seconds in which what was said last has to be taken

ReadStream = MemoryObjectReceiveStream[SessionMessage | Exception]
WriteStream = MemoryObjectSendStream[SessionMessage]


class StdioTransport:
    """The lines of the client as the streams of the SDK."""

    def __init__(self, lines: StdioLines) -> None:
        self._lines = lines

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
        with suppress(OSError, anyio.BrokenResourceError):
            async with hearing, aclosing(self._lines.read()) as lines:
                async for line in lines:
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
        await self._lines.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())


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


def claim_stdio() -> StdioTransport:
    """Claim stdin and stdout for the transport: other output goes to stderr, and other readers find an end of file."""
    return StdioTransport(claim_stdio_lines())
