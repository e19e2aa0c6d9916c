"""The frameworks, each with the compaction that it documents for long conversations, and a summarizer of the same kind.

A contender is an async context manager over `say(prompt) -> answer`, which goes on with one conversation. What a framework offers
for finding earlier words again is switched on.
"""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bench.long_sessions.session import INSTRUCTIONS, depot_record

MODEL, SUMMARIZER = "mock", "summarizer"
WINDOW = 8_000  # tokens, which each contender is told
AT = 0.85  # of the window: from there on the others compact, as their documentation has it

Say = Callable[[str], Awaitable[str]]


@asynccontextmanager
async def treadle(url: str, key: str) -> AsyncIterator[Say]:
    """Treadle as it is: compaction needs no setting. The summarizer is another model only so that all have the same one."""
    from treadle import Agent, Compaction, tool
    from treadle.models.http import close_model_connections
    from treadle.models.wires.openai import OpenAI

    model = OpenAI(MODEL, base_url=url, api_key=key, context=WINDOW)
    notes = OpenAI(SUMMARIZER, base_url=url, api_key=key, context=WINDOW)
    agent = Agent(model, tools=[tool(effect="read")(depot_record)], instructions=INSTRUCTIONS, compaction=Compaction(model=notes))

    async def say(prompt: str) -> str:
        return (await agent.run(prompt, run_id="talk")).output

    try:
        yield say
    finally:
        await close_model_connections()


@asynccontextmanager
async def pydantic_ai(url: str, key: str) -> AsyncIterator[Say]:
    """pydantic-ai with a history processor that has old messages summarized, as in its documentation, by size."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

    chat, writer = _pydantic_models(url, key)
    summarizer = Agent(writer, instructions="Summarize this conversation. Keep names, numbers and decisions.")

    def size(messages: list[ModelMessage]) -> int:
        return sum([len(str(getattr(part, "content", part))) for each in messages for part in each.parts]) // 4

    async def summarize_old_messages(messages: list[ModelMessage]) -> list[ModelMessage]:
        if size(messages) < WINDOW * AT:
            return messages
        begins = [
            index
            for index, each in enumerate(messages)
            if isinstance(each, ModelRequest) and any(isinstance(part, UserPromptPart) for part in each.parts)
        ]
        cut = next(index for index in begins if size(messages[index:]) < WINDOW * 0.3)
        summary = await summarizer.run(message_history=messages[:cut])
        return [ModelRequest(parts=[UserPromptPart(f"Summary of the conversation so far:\n{summary.output}")]), *messages[cut:]]

    agent = Agent(chat, instructions=INSTRUCTIONS, tools=[depot_record], capabilities=[ProcessHistory(summarize_old_messages)])
    history: list[ModelMessage] = []

    async def say(prompt: str) -> str:
        result = await agent.run(prompt, message_history=history)
        history[:] = result.all_messages()
        return result.output

    yield say


@asynccontextmanager
async def pydantic_ai_harness(url: str, key: str) -> AsyncIterator[Say]:
    """pydantic-ai with the compaction and the conversation search of its harness."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai_harness.compaction import SummarizingCompaction
    from pydantic_ai_harness.conversation_search import ConversationSearch, SnapshotHistorySource
    from pydantic_ai_harness.step_persistence import InMemoryStepStore, StepPersistence

    chat, writer = _pydantic_models(url, key)
    store = InMemoryStepStore()
    compaction = SummarizingCompaction(writer, max_fraction=AT, context_window=WINDOW, keep_tokens=int(WINDOW * 0.3))
    search = ConversationSearch(SnapshotHistorySource(store), scope="conversation")
    agent = Agent(
        chat, instructions=INSTRUCTIONS, tools=[depot_record], capabilities=[StepPersistence(store=store), search, compaction]
    )
    history: list[ModelMessage] = []

    async def say(prompt: str) -> str:
        result = await agent.run(prompt, message_history=history, conversation_id="talk")
        history[:] = result.all_messages()
        return result.output

    yield say


def _pydantic_models(url: str, key: str) -> tuple[Any, Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=url, api_key=key)
    return OpenAIChatModel(MODEL, provider=provider), OpenAIChatModel(SUMMARIZER, provider=provider)


@asynccontextmanager
async def langchain(url: str, key: str) -> AsyncIterator[Say]:
    """LangChain's agent with its SummarizationMiddleware, and thresholds from its documentation."""
    from langchain.agents.middleware import SummarizationMiddleware

    chat, writer = _langchain_models(url, key)
    compaction = SummarizationMiddleware(chat, trigger=("fraction", AT), keep=("fraction", 0.3), summarizer=writer)
    yield _langchain_agent(chat, [compaction])


@asynccontextmanager
async def deepagents(url: str, key: str) -> AsyncIterator[Say]:
    """deepagents' compaction with its defaults: what is evicted goes to a file, which the model can read and search."""
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.filesystem import FilesystemMiddleware
    from deepagents.middleware.summarization import create_summarization_middleware

    chat, writer = _langchain_models(url, key)
    with tempfile.TemporaryDirectory(prefix="deepagents-") as folder:
        backend = FilesystemBackend(root_dir=folder, virtual_mode=True)
        files = FilesystemMiddleware(backend=backend, tools=["read_file", "grep"])
        yield _langchain_agent(chat, [files, create_summarization_middleware(chat, backend, summarizer=writer)])


def _langchain_models(url: str, key: str) -> tuple[Any, Any]:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    profile: Any = {"max_input_tokens": WINDOW}
    common: dict[str, Any] = {"base_url": url, "api_key": SecretStr(key), "profile": profile, "max_retries": 0}
    return ChatOpenAI(model=MODEL, **common), ChatOpenAI(model=SUMMARIZER, **common)


def _langchain_agent(chat: Any, middleware: list[Any]) -> Say:
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    agent = create_agent(
        chat, tools=[depot_record], system_prompt=INSTRUCTIONS, middleware=middleware, checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "talk"}, "recursion_limit": 1_000}

    async def say(prompt: str) -> str:
        state = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]}, config)
        return str(state["messages"][-1].content)

    return say


CONTENDERS: dict[str, Callable[[str, str], AbstractAsyncContextManager[Say]]] = {
    "treadle": treadle,
    "pydantic-ai": pydantic_ai,
    "pydantic-ai-harness": pydantic_ai_harness,
    "langchain": langchain,
    "deepagents": deepagents,
}
