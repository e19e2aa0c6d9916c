"""The requests of a turn: what each of them used."""

import asyncio

import pytest

from treadle import Agent, Limits, Usage, tool
from treadle.core.entries import Replied
from treadle.core.errors import ModelUnavailable
from treadle.core.events import ModelNoticed
from treadle.core.requests import ReplyEnded, TextDelta
from treadle.models.scripted import ScriptedReply, calls
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "5"


def test_each_request_has_its_model_its_usage_its_cost_and_its_time():
    first, second = Usage(1, 0, 1000, 10, cache_read_tokens=400), Usage(1, 0, 2000, 20)
    replies = ScriptedReply(calls=calls(("look", {})).calls, usage=first), ScriptedReply("five", usage=second)
    result = Agent(Scripted(*replies, name="openai:gpt-4o-mini"), tools=[look], priced=True).run_sync("Go.")
    asked = result.requests
    assert [(each.model, each.finish) for each in asked] == [("openai:gpt-4o-mini", "calls"), ("openai:gpt-4o-mini", "done")]
    assert [(each.usage.input_tokens, each.usage.cache_read_tokens) for each in asked] == [(1000, 400), (2000, 0)]
    assert sum(each.cost for each in asked) == pytest.approx(result.cost)
    assert all(each.seconds > 0 for each in asked)


def test_the_model_is_the_one_that_replied_or_the_runs_where_none_is_named():
    named = [TextDelta("a"), ReplyEnded("done", model="gpt-5-mini-2025-08-07")]
    assert Agent(Scripted(named, name="openai:gpt-5-mini")).run_sync("Go.").requests[0].model == "gpt-5-mini-2025-08-07"
    unnamed = [TextDelta("a"), ReplyEnded("done")]
    assert Agent(Scripted(unnamed, name="openai:gpt-5-mini")).run_sync("Go.").requests[0].model == "openai:gpt-5-mini"


def test_tries_that_failed_are_counted_too():
    limits = Limits(tries=2, backoff=0.0)
    result = Agent(Scripted(ModelUnavailable("busy"), "a"), limits=limits).run_sync("Go.")
    assert [(each.usage.requests, each.finish) for each in result.requests] == [(2, "done")]
    result = Agent(Scripted(ModelUnavailable("busy"), ModelUnavailable("busy")), limits=limits).run_sync("Go.")
    assert [(each.usage.requests, each.finish) for each in result.requests] == [(2, "broken")]


def test_they_are_those_of_the_last_turn():
    async def tale():
        agent, journal = Agent(Scripted(calls(("look", {})), "five", "six"), tools=[look]), MemoryJournal()
        first = await agent.run("Go.", run_id="r", journal=journal)
        second = await agent.run("And?", run_id="r", journal=journal)
        return len(first.requests), len(second.requests)

    assert asyncio.run(tale()) == (2, 1)


def test_an_answer_that_a_filter_ended_says_so():
    cut, whole = [TextDelta("First, take"), ReplyEnded("filtered")], [TextDelta("Take it."), ReplyEnded("done")]
    notice = "The content filter of acme:one's provider ended this reply: it may be incomplete."
    for reply, expected in ((cut, [notice]), (whole, [])):
        events = []
        result = Agent(Scripted(reply, name="acme:one")).run_sync("Go.", watchers=[events.append])
        assert (result.stopped, result.output) == ("answered", reply[0].text)
        assert [event.text for event in events if isinstance(event, ModelNoticed)] == expected
        assert [notice for entry in result.entries if isinstance(entry, Replied) for notice in entry.notices] == expected


def test_a_reply_that_a_filter_held_back_fails():
    result = Agent(Scripted([ReplyEnded("filtered")])).run_sync("Go.")
    assert (result.stopped, "content filter held the reply back" in result.reason) == ("failed", True)
    assert not any(entry.notices for entry in result.entries if isinstance(entry, Replied))


def test_a_request_names_the_tools_that_only_read() -> None:
    @tool
    async def act() -> str:
        """Act."""
        return "done"

    model = Scripted("Hm.")
    Agent(model, tools=[look, act]).run_sync("Go.")
    assert "look" in model.requests[0].read_only
    assert "act" not in model.requests[0].read_only
