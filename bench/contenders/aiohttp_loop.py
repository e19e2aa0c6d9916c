"""The hand-written loop on aiohttp: what a good HTTP library adds to the floor."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from bench.contenders import Run, Setup
from bench.handloop import ReencodedHistory, run


class AiohttpWire:
    """Posts through one session, which keeps connections alive."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def whole(self, body: bytes) -> bytes:
        """Post and read the reply to its end."""
        async with self._session.post(self._url, data=body) as response:
            return await response.read()

    async def pieces(self, body: bytes) -> AsyncIterator[bytes]:
        """Post and give the reply's bytes as they arrive."""
        async with self._session.post(self._url, data=body) as response:
            async for piece in response.content.iter_any():
                yield piece


@asynccontextmanager
async def opened(setup: Setup) -> AsyncIterator[Run]:
    """One session for all runs, with no cap on connections."""
    headers = {"authorization": "Bearer unused", "content-type": "application/json"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        wire = AiohttpWire(session, f"{setup.base_url}/chat/completions")
        yield lambda prompt: run(prompt, wire, setup.stream, ReencodedHistory)
