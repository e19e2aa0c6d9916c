"""Overrides, for tests of programs that have agents."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from treadle import Agent, Limits, Options, RunContext, ask, tool
from treadle.core.errors import MissingKey, SettingsError
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted


@tool(effect="read")
async def who(ctx: RunContext[str]) -> str:
    """Who is there?"""
    return f"{ctx.deps} is there"


@tool(effect="read", name="who")
async def nobody() -> str:
    """Who is there?"""
    return "nobody is there"


def answer(request) -> str:
    return request.history[-1].parts[0].content


def looking() -> Scripted:
    return Scripted(calls(("who", {})), answer)


def test_the_model_is_another_one_inside_and_the_same_again_after_it():
    agent = Agent(Scripted("real", "real again"))
    with agent.override(model=Scripted("fake")):
        assert agent.run_sync("Go.").output == "fake"
    assert agent.run_sync("Go.").output == "real"
    with pytest.raises(KeyError), agent.override(model=Scripted("fake")):
        raise KeyError
    assert agent.run_sync("Go.").output == "real again"


def test_what_is_overridden_wins_over_what_is_passed_to_run():
    agent = Agent(Scripted("real"), tools=[who])
    model = looking()
    with agent.override(model=model, tools=[nobody], deps="Test", limits=Limits(rounds=7), options=Options(temperature=0.5)):
        with agent.override(instructions="Be brief."):
            result = agent.run_sync("Go.", model=Scripted("real"), deps="Ann", tools=[who], limits=Limits(rounds=1))
        assert result.output == "nobody is there"
        assert (model.requests[0].instructions, model.requests[0].options.temperature) == ("Be brief.", 0.5)
    fresh = looking()
    with agent.override(model=fresh, deps="Test"):
        assert agent.run_sync("Go.", deps="Ann", options=Options(max_tokens=9)).output == "Test is there"
    assert fresh.requests[0].options.max_tokens == 9


def test_tasks_and_threads_that_are_started_inside_have_it_and_others_do_not():
    agent = Agent(Scripted("real"))

    async def tale():
        started, left = asyncio.Event(), asyncio.Event()

        async def inside():
            started.set()
            await left.wait()
            return (await agent.run("Go.")).output

        with agent.override(model=Scripted("fake", "fake")):
            task = asyncio.create_task(inside())
            with ThreadPoolExecutor() as pool:
                threaded = pool.submit(copy_context().run, lambda: agent.run_sync("Go.").output).result()
            await started.wait()
        outside = asyncio.create_task(agent.run("Go."))
        left.set()
        return threaded, (await outside).output, await task

    assert asyncio.run(tale()) == ("fake", "real", "fake")


def test_an_agent_that_is_a_tool_is_overridden_by_its_own():
    inner = Agent(Scripted("real"), tools=[who], name="inner")
    outer = Agent(Scripted(*[calls(("inner", {"prompt": "Who?"})), answer] * 2), tools=[inner.as_tool()])
    with inner.override(model=looking(), deps="Test"):
        assert outer.run_sync("Go.", deps="Ann").output == "Test is there"
    assert outer.run_sync("Go.", deps="Ann").output == "real"


def test_a_run_that_waits_is_answered_and_resumed_inside():
    @tool
    async def order(item: str) -> str:
        """Order."""
        return f"{item} ordered"

    async def tale(journal):
        agent = Agent(Scripted("real"))
        with agent.override(model=Scripted(calls(("order", {"item": "tin"})), answer), tools=[order], policy=[ask("*")]):
            waiting = await agent.run("Go.", run_id="r", journal=journal)
            await agent.approve("r", waiting.approvals[0].call_id, arguments={"item": "tea"}, journal=journal or None)
            return (await agent.resume("r", journal=journal or None)).output

    assert asyncio.run(tale(MemoryJournal())) == "tea ordered"
    assert asyncio.run(tale(False)) == "tea ordered"


def test_only_arguments_of_an_agent_can_be_overridden():
    with pytest.raises(SettingsError, match=r"`override` takes model, tools, .*deps, not 'modle'"):
        Agent(Scripted("a")).override(modle=Scripted("b"))


def test_an_agent_without_its_key_can_be_created_and_overridden_and_raises_when_it_runs(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    agent = Agent("openai:gpt-5-mini", output_type=int)
    with agent.override(model=Scripted(calls(("give_answer", {"value": 3})))):
        assert agent.run_sync("Go.").output == 3
    with pytest.raises(MissingKey, match="openai:gpt-5-mini needs a key: set OPENAI_API_KEY"):
        agent.run_sync("Go.")
    outer = Agent(Scripted(calls(("clerk", {"prompt": "Go."})), "Sorry."), tools=[agent.as_tool("clerk")]).run_sync("Go.")
    assert outer.calls[0].problem == "raised"
    assert Agent("openai:gpt-5-mini").run_sync("Go.", model=Scripted("Hello.")).output == "Hello."


def test_a_key_that_is_set_after_the_agent_was_created_is_found(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent = Agent("openai:gpt-5-mini", limits=Limits(tries=1))
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    result = agent.run_sync("Go.")
    assert (result.stopped, "127.0.0.1:9 does not answer" in result.reason) == ("failed", True)
