"""pydantic-ai, on its OpenAI chat model with one reused client and no request limit."""

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.contenders import Run, Setup
from bench.contenders.openai_client import openai_client
from bench.scenario import INSTRUCTIONS, MODEL
from bench.tools import TOOLS


async def _consume(_context: Any, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


@asynccontextmanager
async def opened(setup: Setup) -> AsyncIterator[Run]:
    """An agent; the event handler is its documented way to stream a run with tools."""
    async with openai_client(setup) as client:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, instructions=INSTRUCTIONS, tools=TOOLS)
        handler = _consume if setup.stream else None

        async def run_once(prompt: str) -> str:
            limits = UsageLimits(request_limit=None)
            result = await agent.run(prompt, usage_limits=limits, event_stream_handler=handler)
            return result.output

        yield run_once
