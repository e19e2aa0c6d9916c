"""Treadle itself: without a journal, with the SQLite journal, and with the audit trail too."""

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bench.contenders import Run, Setup
from bench.scenario import INSTRUCTIONS, MODEL
from bench.tools import TOOLS
from treadle import Agent, Limits, open_home, tool
from treadle.app.home import close_homes
from treadle.models.http import close_all
from treadle.models.openai import OpenAI


def opened(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Nothing is written down."""
    return _opened(setup, lambda _folder: False)


def opened_with_journal(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Every step goes to SQLite."""
    return _opened(setup, lambda folder: open_home(folder).services(audit=False))


def opened_with_audit(setup: Setup) -> AbstractAsyncContextManager[Run]:
    """Every step goes to SQLite, and so does the audit trail: what `journal=True` gives, in a folder of our own."""
    return _opened(setup, lambda folder: open_home(folder).services())


@asynccontextmanager
async def _opened(setup: Setup, journal_in: Callable[[str], Any]) -> AsyncIterator[Run]:
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        agent, journal = _agent(setup), journal_in(folder)

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
            await close_all()
            close_homes()


def _agent(setup: Setup) -> Agent[str]:
    model = OpenAI(MODEL, base_url=setup.base_url, api_key="unused", stream=setup.stream)
    tools = [tool(effect="read")(function) for function in TOOLS]
    limits = Limits(rounds=1_000, calls=100_000)
    return Agent(model, tools=tools, instructions=INSTRUCTIONS, limits=limits)
