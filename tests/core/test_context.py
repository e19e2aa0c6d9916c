"""What a tool gets to know."""

import asyncio
from datetime import UTC, datetime

import pytest

from treadle.core.calls import Call, WaitRequest
from treadle.core.context import RunContext
from treadle.core.messages import Text


def test_a_context_never_shows_its_credentials():
    context = RunContext(run_id="r", call_id="c", tool_name="t", credentials={"token": "s3cret"})
    assert "s3cret" not in repr(context)
    assert context.credentials["token"] == "s3cret"


def test_outside_of_a_run_no_other_tool_can_be_called():
    with pytest.raises(RuntimeError, match="outside of a run"):
        asyncio.run(RunContext(tool_name="t").call("other"))


def test_calls_and_progress_go_where_they_were_handed_in():
    told = []

    async def call(name, arguments):
        return name, arguments

    context = RunContext(call=call, progress=told.append)
    assert asyncio.run(context.call("other", x=1)) == ("other", {"x": 1})
    context.progress("half")
    RunContext().progress("nobody listens")
    assert told == ["half"]


def test_the_words_of_the_reply_that_asks_for_the_call_are_there():
    assert RunContext(parts=(Text("Here: "), Call("c", "look", {}), Text("that."))).words == "Here: that."
    assert RunContext().words == ""


def test_a_context_can_have_other_credentials_and_stays_the_same_otherwise():
    told = []
    context = RunContext(run_id="r", key="k", credentials={"token": "mine"}, progress=told.append)
    other = context.with_credentials({"token": "other"})
    other.progress("on")
    assert (other.credentials, other.run_id, other.key, told) == ({"token": "other"}, "r", "k", ["on"])
    assert context.credentials == {"token": "mine"}


def test_waits_go_where_they_were_handed_in():
    asked = []

    async def wait(request):
        asked.append(request)
        return "came"

    context = RunContext(tool_name="t", wait=wait)
    noon = datetime(2027, 1, 15, 12, tzinfo=UTC)

    async def work():
        assert await context.sleep(5) is None
        await context.sleep(until=noon)
        await context.sleep(until=7.0)
        return await context.wait_for_event("paid", "7", timeout=60)

    assert asyncio.run(work()) == "came"
    assert asked == [
        WaitRequest(5),
        WaitRequest(until=noon.timestamp()),
        WaitRequest(until=7.0),
        WaitRequest(60, event="paid", key="7"),
    ]
    with pytest.raises(RuntimeError, match="t was called outside of a run, so it can't wait"):
        asyncio.run(RunContext(tool_name="t").sleep(5))


def test_a_deferred_result_comes_at_a_time_or_with_an_event():
    context = RunContext()
    assert context.defer(seconds=5) == WaitRequest(5)
    assert context.defer(until=7.0) == WaitRequest(until=7.0)
    assert context.defer(event="paid", key="7", timeout=60) == WaitRequest(60, event="paid", key="7")
    for wrong in ({}, {"event": "paid", "seconds": 5}, {"event": "paid", "until": 7.0}, {"seconds": 5, "until": 7.0}):
        with pytest.raises(TypeError):
            context.defer(**wrong)
    with pytest.raises(TypeError, match="how long to sleep"):
        asyncio.run(context.sleep())
    with pytest.raises(ValueError, match="has no time zone"):
        context.defer(until=datetime(2027, 1, 15))
