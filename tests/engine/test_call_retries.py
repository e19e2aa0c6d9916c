"""Calls that raise and are tried again: what is journaled, what ends it, and what never happens twice."""

import asyncio

import pytest

from treadle import Agent, RunContext, ToolProblem, allow, tool
from treadle.core.calls import Allow, Call, Written
from treadle.core.entries import Judged, Opened, Replied, Returned, Said, Started
from treadle.core.events import CallRetried, CallStarted
from treadle.core.requests import ToolSpec
from treadle.core.tool import RetryPolicy, Tool
from treadle.engine.setup import Services
from treadle.models.scripted import Scripted, calls
from treadle.stores.memory import MemoryCache, MemoryJournal
from treadle.toolsets.functions import FunctionToolset
from treadle.toolsets.wrappers import with_retries

QUICK = RetryPolicy(2, seconds=0.0)
tries: list[str] = []


@pytest.fixture(autouse=True)
def nothing_tried():
    tries.clear()


def failing(times, error=ConnectionError("refused"), **options):  # noqa: B008 - never changed
    """A tool that raises so many times."""
    options = {"effect": "read", "retries": QUICK} | options

    @tool(**options)
    async def act(ctx: RunContext) -> str:
        """Act."""
        tries.append(f"{ctx.key} {ctx.attempt}")
        if len(tries) <= times:
            raise error
        return "done"

    return act


def ran(*tools, journal=False):
    agent = Agent(Scripted(calls(("act", {})), "so"), tools=tools, policy=[allow("*")])
    return agent.run_sync("Go.", run_id="r", journal=journal)


def test_the_model_reads_a_problem_only_after_the_last_try():
    result = ran(failing(3))
    assert (result.calls[0].problem, len(tries)) == ("raised", 3)
    assert [entry.result.content for entry in result.entries if isinstance(entry, Returned)] == ["ConnectionError: refused"]


def test_only_the_last_try_is_logged_with_its_traceback_and_raised_in_tests(caplog):
    assert ran(failing(2)).calls[0].problem is None
    assert "Traceback" not in caplog.text
    tries.clear()
    ran(failing(3))
    assert caplog.text.count("Traceback") == 1
    tries.clear()
    agent = Agent(Scripted(calls(("act", {})), "so"), tools=[failing(3)], raise_tool_errors=True)
    with pytest.raises(ConnectionError):
        agent.run_sync("Go.")
    assert len(tries) == 3


def test_what_the_tool_tells_the_model_is_not_tried_again():
    result = ran(failing(1, ToolProblem("Nobody is called Bo.")))
    assert (result.calls[0].result.content, len(tries)) == ("Nobody is called Bo.", 1)


def test_another_exception_than_the_listed_ones_is_not_tried_again():
    assert ran(failing(1, KeyError("x"), retries=RetryPolicy(2, 0.0, (OSError,)))).calls[0].problem == "raised"
    assert len(tries) == 1


def test_each_try_of_an_effect_is_on_disk_before_it_begins():
    seen = []

    class Watched(MemoryJournal):
        async def append(self, run_id, position, entries):
            seen.extend(f"disk {entry.attempt}" for entry in entries if isinstance(entry, Started))
            await super().append(run_id, position, entries)

    @tool(retry="idempotent", retries=QUICK)
    async def act(ctx: RunContext) -> str:
        """Act."""
        seen.append(f"try {ctx.attempt}")
        raise OSError

    ran(act, journal=Watched())
    assert seen == ["disk 1", "try 1", "disk 2", "try 2", "disk 3", "try 3"]


def test_a_crash_between_two_tries_leaves_only_the_remaining_ones():
    async def resumed():
        journal = MemoryJournal()
        call = Call("c1", "act", {})
        began = [Started(call_id="c1", key="k", attempt=attempt) for attempt in (1, 2)]
        before = [Opened(), Said(text="Go."), Replied(parts=(Written("c1", "act", "{}"),)), Judged(call=call, verdict=Allow())]
        await journal.append("r", 0, [*before, *began])
        agent = Agent(Scripted("so"), tools=[failing(9, retry="keyed", effect="write")])
        return await agent.resume("r", journal=journal)

    result = asyncio.run(resumed())
    assert (result.calls[0].problem, tries) == ("raised", ["k 3"])


def test_an_effect_that_must_not_happen_twice_runs_once_whatever_its_toolset_says():
    class Careless(FunctionToolset):
        def tools(self):
            return (Tool(ToolSpec("act", "", {"type": "object"}), retry="once", retries=QUICK),)

    assert ran(Careless([failing(1)])).calls[0].problem == "raised"
    assert len(tries) == 1


def test_a_delay_that_outlasts_the_timeout_is_not_waited_for():
    services = Services(MemoryJournal(), chance=lambda: 1.0)
    result = ran(failing(1, timeout=5, retries=RetryPolicy(1, seconds=6.0)), journal=services)
    assert (result.calls[0].result.content, len(tries)) == ("ConnectionError: refused", 1)


def test_the_timeout_is_for_all_tries_together():
    @tool(effect="read", timeout=1, retries=RetryPolicy(1000, seconds=0.0))
    async def act(ctx: RunContext) -> str:
        """Act."""
        if ctx.attempt > 3:
            await asyncio.Event().wait()
        raise OSError

    assert ran(act).calls[0].problem == "timeout"


def test_cancelling_ends_the_delay_at_once():
    async def cancelled():
        agent = Agent(Scripted(calls(("act", {}))), tools=[failing(1, retries=RetryPolicy(1, seconds=30.0))])
        services = Services(MemoryJournal(), chance=lambda: 1.0)
        ending = []

        def watch(event):
            if isinstance(event, CallRetried):
                ending.append(asyncio.ensure_future(agent.cancel("r")))

        result = await asyncio.wait_for(agent.run("Go.", run_id="r", journal=services, watchers=[watch]), 20)
        return result, await ending[0]

    result, found = asyncio.run(cancelled())
    assert (result.stopped, found, len(tries)) == ("cancelled", True, 1)
    assert result.calls[0].problem == "cancelled"


def test_what_a_tool_called_itself_is_not_called_again_by_its_next_try():
    done = []

    @tool
    async def pay() -> str:
        """Pay."""
        done.append("paid")
        return "paid"

    @tool(retry="idempotent", retries=QUICK)
    async def act(ctx: RunContext) -> str:
        """Act."""
        await ctx.call("pay")
        if ctx.attempt == 1:
            raise OSError
        return "done"

    result = ran(act, pay)
    assert (done, [record.result.content for record in result.calls if record.name == "act"]) == (["paid"], ["done"])


def test_a_cached_read_is_tried_again_too():
    result = ran(failing(1, cache=60), journal=Services(MemoryJournal(), cache=MemoryCache()))
    assert (result.calls[0].result.content, len(tries)) == ("done", 2)


def test_watchers_see_one_start_of_a_read_and_each_start_of_an_effect():
    for act, starts in ((failing(1), 1), (failing(1, effect="write", retry="keyed"), 2)):
        tries.clear()
        events = []
        Agent(Scripted(calls(("act", {})), "so"), tools=[act], policy=[allow("*")]).run_sync("Go.", watchers=[events.append])
        assert len([event for event in events if isinstance(event, CallStarted)]) == starts


def test_a_toolset_gets_retries_by_a_wrapper():
    @tool
    async def pay() -> str:
        """Pay."""
        return "paid"

    toolset = with_retries(FunctionToolset([failing(1, retries=0), pay]), QUICK)
    assert {made.name: made.retries for made in toolset.tools()} == {"act": QUICK, "pay": None}
    assert ran(toolset).calls[0].result.content == "done"
