"""The floor: the hand-written loop on a raw asyncio connection, keep-alive, no HTTP library.

It understands the replies of our mock server and nothing else.
"""

from asyncio import StreamReader, StreamWriter, open_connection
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlsplit

from bench.contenders import Run, Setup
from bench.handloop import AppendedHistory, History, ReencodedHistory, run

_READ = 65536


class RawConnection:
    """One keep-alive connection."""

    def __init__(self, reader: StreamReader, writer: StreamWriter, head: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._head = head

    async def whole(self, body: bytes) -> bytes:
        """Post and read a reply with a content length."""
        self._post(body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        _, _, length = head.partition(b"content-length: ")
        return await self._reader.readexactly(int(length))

    async def pieces(self, body: bytes) -> AsyncIterator[bytes]:
        """Post and give what each read brought of a chunked reply, the chunk framing removed."""
        self._post(body)
        await self._reader.readuntil(b"\r\n\r\n")
        buffer = b""
        ended = False
        while not ended:
            buffer += await self._reader.read(_READ)
            payload, buffer, ended = unchunked(buffer)
            if payload:
                yield payload

    def _post(self, body: bytes) -> None:
        self._writer.write(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


def unchunked(buffer: bytes) -> tuple[bytes, bytes, bool]:
    """Split into the payload of complete chunks, what is left over, and whether it ended."""
    payloads = []
    start = 0
    while (line_end := buffer.find(b"\r\n", start)) >= 0:
        size = int(buffer[start:line_end], 16)
        chunk_end = line_end + 2 + size
        if len(buffer) < chunk_end + 2:
            break
        if size == 0:
            return b"".join(payloads), buffer[chunk_end + 2 :], True
        payloads.append(buffer[line_end + 2 : chunk_end])
        start = chunk_end + 2
    return b"".join(payloads), buffer[start:], False


class Pool:
    """Idle connections, opened when there is none; a run keeps its connection to the end."""

    def __init__(self, base_url: str) -> None:
        address = urlsplit(base_url)
        assert address.hostname is not None
        assert address.port is not None
        self._host, self._port = address.hostname, address.port
        self._head = (
            f"POST {address.path}/chat/completions HTTP/1.1\r\nhost: {address.netloc}\r\n"
            "authorization: Bearer unused\r\ncontent-type: application/json\r\ncontent-length: "
        ).encode()
        self._idle: list[RawConnection] = []

    async def take(self) -> RawConnection:
        """An idle connection or a new one."""
        if self._idle:
            return self._idle.pop()
        return RawConnection(*await open_connection(self._host, self._port), self._head)

    def give_back(self, connection: RawConnection) -> None:
        """Keep it for the next run."""
        self._idle.append(connection)

    def close(self) -> None:
        """Hang up everywhere."""
        for connection in self._idle:
            connection.close()


@asynccontextmanager
async def _opened(setup: Setup, history: Callable[[bool], History]) -> AsyncIterator[Run]:
    pool = Pool(setup.base_url)

    async def run_once(prompt: str) -> str:
        connection = await pool.take()
        text = await run(prompt, connection, setup.stream, history)
        pool.give_back(connection)
        return text

    try:
        yield run_once
    finally:
        pool.close()


def opened(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """The floor that encodes the whole history at every request."""
    return _opened(setup, ReencodedHistory)


def opened_appended(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """The floor that encodes every message once."""
    return _opened(setup, AppendedHistory)
