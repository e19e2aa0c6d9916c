"""openai-agents, on its chat completions model with one reused client; tracing is off."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled

from bench.contenders import Run, Setup
from bench.contenders.openai_client import openai_client
from bench.scenario import INSTRUCTIONS, MODEL
from bench.tools import TOOLS

_TURNS = 10_000


@asynccontextmanager
async def opened(setup: Setup) -> AsyncIterator[Run]:
    """An agent, run whole or streamed."""
    set_tracing_disabled(True)
    async with openai_client(setup) as client:
        agent = Agent(
            name="bench",
            instructions=INSTRUCTIONS,
            model=OpenAIChatCompletionsModel(MODEL, openai_client=client),
            tools=[function_tool(function) for function in TOOLS],
        )

        async def whole(prompt: str) -> str:
            return (await Runner.run(agent, prompt, max_turns=_TURNS)).final_output

        async def streamed(prompt: str) -> str:
            result = Runner.run_streamed(agent, prompt, max_turns=_TURNS)
            async for _event in result.stream_events():
                pass
            return result.final_output

        yield streamed if setup.stream else whole
