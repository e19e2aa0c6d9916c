"""Calls have ids of their own, whatever a model or its server calls them."""

import asyncio

import pytest

import wire
from treadle import Agent, RunContext, allow, tool
from treadle.core.calls import Written
from treadle.core.errors import ReplyBroken
from treadle.core.events import CallArrived, CallJudged, CallReturned
from treadle.core.requests import CallDelta, CallDone, ReplyEnded
from treadle.loop.limits import Limits
from treadle.models.scripted import ScriptedCall, ScriptedReply
from treadle.testing import Scripted
from wire import call

done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


@tool
async def write(text: str) -> str:
    """Write."""
    done.append(text)
    return f"wrote {text}"


@tool(effect="read")
async def outer(ctx: RunContext) -> str:
    """Write by way of another tool."""
    return await ctx.call("write", text="inner")


def ask(*replies, tools=(write, outer), **settings):
    events = []
    agent = Agent(Scripted(*replies), tools=tools, policy=[allow("*")], limits=Limits(backoff=0), **settings)
    result = agent.run_sync("Go.", watchers=[events.append])
    return result, events


@pytest.mark.parametrize(("name", "stream"), wire.ALL)
def test_an_id_that_comes_back_in_a_later_round_is_made_unique(name, stream):
    events = []
    script = [call("write", {"text": "a"}, id="call_0"), call("write", {"text": "b"}, id="call_0"), "done"]
    with wire.WireServer(script) as server:
        agent = Agent(wire.model(server, name, stream=stream), tools=[write], policy=[allow("*")])
        result = asyncio.run(agent.run("Go.", watchers=[events.append]))
    ids = [record.call.id for record in result.calls]
    assert len(set(ids)) == 2
    assert [record.result.content for record in result.calls] == ["wrote a", "wrote b"]
    for kind, of in ((CallArrived, "call_id"), (CallJudged, "call"), (CallReturned, "result")):
        seen = [getattr(event, of) for event in events if isinstance(event, kind)]
        assert [getattr(one, "id", getattr(one, "call_id", one)) for one in seen] == ids


def test_an_id_that_could_be_a_tools_own_call_is_not_taken():
    """The model calls its second call as the engine would call the first one that `outer` makes."""
    reply = ScriptedReply(calls=(ScriptedCall("outer", {}, "c1"), ScriptedCall("write", {"text": "own"}, "c1.1")))
    result, _ = ask(reply, "done")
    assert sorted(done) == ["inner", "own"]
    assert len({record.call.id for record in result.calls}) == 3
    assert result.output == "done"


@pytest.mark.parametrize("odd", ["", "a b", "x" * 65, "c1.12", "\x1b[2J", "naïve"])
def test_an_odd_id_is_replaced(odd):
    result, _ = ask(ScriptedReply(calls=(ScriptedCall("write", {"text": "a"}, odd),)), "done")
    assert result.calls[0].call.id != odd
    assert done == ["a"]


@pytest.mark.parametrize("usual", ["call_abc123", "toolu_01A-b", "functions.ls:0", "0", "a@b"])
def test_a_usual_id_is_kept(usual):
    result, _ = ask(ScriptedReply(calls=(ScriptedCall("write", {"text": "a"}, usual),)), "done")
    assert result.calls[0].call.id == usual


def test_a_call_that_was_begun_and_never_finished_leaves_its_id_to_the_next_try():
    broken = [CallDelta("c1", "write"), ReplyBroken("gone")]
    whole = [CallDelta("c1", "write"), CallDone(Written("c1", "write", '{"text": "a"}')), ReplyEnded("calls")]
    result, events = ask(broken, whole, "done")
    assert [record.call.id for record in result.calls] == ["c1"]
    assert [event.call_id for event in events if isinstance(event, CallArrived)] == ["c1", "c1"]
