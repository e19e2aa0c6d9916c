"""Treadle itself: without a journal, with the SQLite journal, and with the audit trail too; and over each wire."""

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bench.contenders import Run, Setup
from bench.scenario import INSTRUCTIONS, MODEL
from bench.tools import TOOLS
from treadle import Agent, Limits, open_home, tool
from treadle.home import close_homes
from treadle.models.http import close_model_connections
from treadle.models.wires.openai import OpenAI


def opened(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Nothing is written down."""
    return _opened(setup, _no_journal)


def opened_with_journal(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Every step goes to SQLite."""
    return _opened(setup, lambda folder: open_home(folder).services(audit=False))


def opened_with_audit(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Every step goes to SQLite, and so does the audit trail: what `journal=True` gives, in a folder of our own."""
    return _opened(setup, lambda folder: open_home(folder).services())


def opened_over_responses(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """OpenAI's Responses."""
    from treadle.models.wires.responses import Responses

    return _opened(setup, _no_journal, Responses(MODEL, base_url=setup.base_url, api_key="unused", stream=setup.stream))


def opened_over_anthropic(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Anthropic's messages."""
    from treadle.models.wires.anthropic import Anthropic

    return _opened(setup, _no_journal, Anthropic(MODEL, base_url=_root(setup), api_key="unused", stream=setup.stream))


def opened_over_google(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Gemini's generateContent."""
    from treadle.models.wires.google import Google

    return _opened(setup, _no_journal, Google(MODEL, base_url=_root(setup), api_key="unused", stream=setup.stream))


def opened_over_bedrock(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Bedrock's Converse, every request signed."""
    from treadle.models.wires.aws_auth import AwsCredentials
    from treadle.models.wires.bedrock import Bedrock

    keys = AwsCredentials("AKIDEXAMPLE", "unused")
    model = Bedrock(MODEL, region="us-east-1", credentials=keys, base_url=_root(setup), stream=setup.stream)
    return _opened(setup, _no_journal, model)


def _no_journal(_folder: str) -> bool:
    return False


def _root(setup: Setup) -> str:
    return setup.base_url.removesuffix("/v1")


@asynccontextmanager
async def _opened(setup: Setup, journal_in: Callable[[str], Any], model: Any = None) -> AsyncIterator[Run]:
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        agent, journal = _agent(setup, model), journal_in(folder)

        async def whole(prompt: str) -> str:
            return (await agent.run(prompt, journal=journal)).output

        async def streamed(prompt: str) -> str:
            result: Any = None
            async for event in agent.stream(prompt, journal=journal):
                result = getattr(event, "result", None)
            return result.output

        try:
            yield streamed if setup.stream else whole
        finally:
            await close_model_connections()
            close_homes()


def _agent(setup: Setup, model: Any) -> Agent[Any, str]:
    model = model or OpenAI(MODEL, base_url=setup.base_url, api_key="unused", stream=setup.stream)
    tools = [tool(effect="read")(function) for function in TOOLS]
    limits = Limits(rounds=1_000, calls=100_000)
    return Agent(model, tools=tools, instructions=INSTRUCTIONS, limits=limits)
