"""Results reused, and forgotten when they may no longer be so."""

import asyncio

from treadle import Agent, RunContext, allow, tool
from treadle.engine.setup import Services
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryCache, MemoryJournal
from treadle.testing import Scripted


def shop():
    looked: list[str] = []

    @tool(effect="read", cache=30)
    async def stock(ctx: RunContext, item: str) -> str:
        """How many?"""
        looked.append(f"{ctx.user}{item}")
        await asyncio.sleep(0)
        return f"{item} {len(looked)}"

    @tool
    async def order(item: str) -> str:
        """Order."""
        return "ordered"

    return looked, [stock, order]


def contents(result):
    return [record.result.content for record in result.calls]


def test_the_same_call_is_answered_from_the_cache_for_a_while():
    looked, tools = shop()
    now = [100.0]

    async def tale():
        model = Scripted(*[calls(("stock", {"item": "A"})), "ok"] * 3)
        agent = Agent(model, tools=tools)
        services = Services(MemoryJournal(), cache=MemoryCache(), clock=lambda: now[0])
        first = await agent.run("Go.", journal=services)
        second = await agent.run("Go.", journal=services)
        now[0] += 31
        third = await agent.run("Go.", journal=services)
        return [*contents(first), *contents(second), *contents(third)], [record.cached for record in second.calls]

    assert asyncio.run(tale()) == (["A 1", "A 1", "A 2"], [True])
    assert len(looked) == 2


def test_each_user_has_their_own():
    looked, tools = shop()

    async def tale():
        agent = Agent(Scripted(*[calls(("stock", {"item": "A"})), "ok"] * 2), tools=tools)
        await agent.run("Go.", user="ann")
        await agent.run("Go.", user="bob")

    asyncio.run(tale())
    assert looked == ["annA", "bobA"]


def test_a_write_by_the_same_toolset_forgets_them():
    looked, tools = shop()
    model = Scripted(calls(("stock", {"item": "A"})), calls(("order", {"item": "A"})), calls(("stock", {"item": "A"})), "ok")
    result = Agent(model, tools=tools, policy=[allow("*")]).run_sync("Go.")
    assert contents(result) == ["A 1", "ordered", "A 2"]
    assert len(looked) == 2


def test_identical_calls_at_once_run_once():
    looked, tools = shop()
    result = Agent(Scripted(calls(*[("stock", {"item": "A"})] * 3), "ok"), tools=tools).run_sync("Go.")
    assert contents(result) == ["A 1", "A 1", "A 1"]
    assert [record.cached for record in result.calls] == [False, True, True]
    assert looked == ["A"]


def test_a_failure_is_not_kept():
    tries = []

    @tool(effect="read", cache=30)
    async def flaky() -> str:
        """Fails at first."""
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return "now"

    result = Agent(Scripted(calls(("flaky", {})), calls(("flaky", {})), "ok"), tools=[flaky]).run_sync("Go.")
    assert [record.problem for record in result.calls] == ["raised", None]


def test_another_agents_tool_of_the_same_name_is_another_tool():
    def agent(about, answer):
        async def price(item: str) -> str:
            return answer

        price.__doc__ = about
        return Agent(Scripted(calls(("price", {"item": "A"})), "ok"), tools=[tool(price, effect="read", cache=30)])

    async def tale():
        services = Services(MemoryJournal(), cache=MemoryCache())
        agents = agent("In euros.", "2 euros"), agent("In yen.", "300 yen")
        return [contents(await each.run("Go.", journal=services)) for each in agents]

    assert asyncio.run(tale()) == [["2 euros"], ["300 yen"]]


def test_calls_at_once_are_shared_within_one_toolset_only():
    def agent(answer):
        @tool(effect="read", cache=30)
        async def price(item: str) -> str:
            """The price."""
            await asyncio.sleep(0)
            return answer

        return Agent(Scripted(calls(("price", {"item": "A"})), "ok"), tools=[price])

    async def tale():
        return [contents(result) for result in await asyncio.gather(*[agent(answer).run("Go.") for answer in "ab"])]

    assert asyncio.run(tale()) == [["a"], ["b"]]
