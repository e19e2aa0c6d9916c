"""The openai client the three peers share in kind: reused, and with room for every run.

It uses the aiohttp transport, which the SDK documents as the faster choice under concurrency.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openai import AsyncOpenAI, DefaultAioHttpClient

from bench.contenders import Setup

_PATIENCE = 600.0


def http_client() -> DefaultAioHttpClient:
    """An HTTP client that lets a crowded run wait rather than fail."""
    return DefaultAioHttpClient(timeout=_PATIENCE)


@asynccontextmanager
async def openai_client(setup: Setup) -> AsyncIterator[AsyncOpenAI]:
    """One SDK client for all runs."""
    async with (
        http_client() as http,
        AsyncOpenAI(base_url=setup.base_url, api_key="unused", http_client=http) as client,
    ):
        yield client
