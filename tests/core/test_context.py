"""What a tool gets to know."""

import asyncio

import pytest

from treadle.core.calls import Call
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
