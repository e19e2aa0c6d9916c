"""A server on loopback that answers with the bytes it is told to, and remembers what it was sent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest


def http(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *[f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body


class Loopback:
    """Answers by path; a path without an answer is a 404. An answer may be a coroutine function that writes by itself."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]] = {}
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.open: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [head.split()[1] for head in self.heads]

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(asyncio.create_task(self._serve(reader, writer)))

    async def close(self) -> None:
        for connection in self.open:
            connection.cancel()
        await asyncio.gather(*self.open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                sizes = [int(line.split(":")[1]) for line in head.lower().splitlines() if line.startswith("content-length:")]
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(sizes[0]) if sizes else b"")
                answer = self.answers.get(head.split()[1].partition("?")[0], http(status="404 Not Found"))
                if callable(answer):
                    await answer(writer)
                    break
                writer.write(answer)
                await writer.drain()


@asynccontextmanager
async def loopback(**answers: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[Loopback]:
    """A server while it is entered: `loopback(hello=http(b"…"))` answers at /hello."""
    ours = Loopback()
    ours.answers = {f"/{name}": answer for name, answer in answers.items()}
    server = await asyncio.start_server(ours.accept, "127.0.0.1", 0)
    ours.port = server.sockets[0].getsockname()[1]
    try:
        yield ours
    finally:
        server.close()
        await ours.close()
        await server.wait_closed()


@pytest.fixture
def serving():
    return loopback


@pytest.fixture
def answering():
    return http
