"""LangGraph's ready-made agent (`create_agent`) on ChatOpenAI, with one reused client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from bench.contenders import Run, Setup
from bench.contenders.openai_client import http_client
from bench.scenario import INSTRUCTIONS, MODEL
from bench.tools import TOOLS

_CONFIG: Any = {"recursion_limit": 100_000}


def _input(prompt: str) -> Any:
    return {"messages": [{"role": "user", "content": prompt}]}


@asynccontextmanager
async def opened(setup: Setup) -> AsyncIterator[Run]:
    """An agent, invoked whole or followed message chunk by message chunk."""
    async with http_client() as client:
        model = ChatOpenAI(
            model=MODEL,
            base_url=setup.base_url,
            api_key=SecretStr("unused"),
            http_async_client=client,
            streaming=setup.stream,
        )
        agent = create_agent(model, list(TOOLS), system_prompt=INSTRUCTIONS)

        async def whole(prompt: str) -> str:
            return (await agent.ainvoke(_input(prompt), _CONFIG))["messages"][-1].content

        async def streamed(prompt: str) -> str:
            texts = []
            async for part, _about in agent.astream(_input(prompt), _CONFIG, stream_mode="messages"):
                if isinstance(part, AIMessageChunk) and part.content:
                    texts.append(part.content)
            return "".join(texts)

        yield streamed if setup.stream else whole
