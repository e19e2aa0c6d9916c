"""The cable between a browser and a server, which a test can pull: connections break in the middle, and new ones don't come."""

import asyncio
import threading
from contextlib import suppress
from typing import Self

PATIENCE = 120  # seconds


class Cable:
    """A TCP proxy in a thread of its own. `port` is where it leads to; `pull` and `plug` say whether anything comes through."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._is_pulled = False
        self._open: set[asyncio.StreamWriter] = set()
        self._up = threading.Event()
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._up.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._over is not None
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(PATIENCE)

    def pull(self) -> None:
        """Break everything that is open."""
        self._is_pulled = True
        self._loop.call_soon_threadsafe(self._break)

    def plug(self) -> None:
        """Let new connections through."""
        self._is_pulled = False

    def _break(self) -> None:
        for writer in [*self._open]:
            writer.transport.abort()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(self._joined, "127.0.0.1", 0) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._up.set()
            await self._over.wait()
            self._break()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_pulled:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        try:
            await asyncio.gather(_copied(reader, back), _copied(there, writer))
        finally:
            for each in (writer, back):  # also of those who came while it ended
                each.transport.abort()
            self._open -= {writer, back}


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()
