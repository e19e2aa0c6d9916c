"""When the model's server misbehaves."""

import asyncio

import pytest

import wire
from stories import QUICK
from treadle import Agent, Limits, allow, tool
from treadle.core.events import ModelRetried
from treadle.models.connections import Timeouts
from wire import break_off, call, raw, refuse, reply, say, stall


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "5"


STATUSES = [408, 409, 429, 500, 502, 503, 529]


@pytest.mark.parametrize("status", STATUSES)
def test_server_recovers(story, status):
    played = story.play([refuse(status, "overloaded"), call("look"), refuse(status), "five"], [look])
    assert played.result.output == "five"
    assert len(played.of(ModelRetried)) == 2
    assert played.of(ModelRetried)[0].attempt == 1


def test_server_recovers__as_late_as_it_asks(story):
    played = story.play([refuse(429, headers={"retry-after": "0.2"}), "five"], [look])
    first, second = [received.at for received in played.server.requests]
    assert second - first >= 0.2
    assert played.of(ModelRetried)[0].wait >= 0.2


def test_server_recovers__but_not_for_ever(story):
    played = story.play([refuse(503, "down")] * 3, [look], limits=Limits(tries=3, backoff=0.001))
    assert played.result.stopped == "failed"
    assert len(played.server.requests) == 3
    assert "503" in played.result.reason or "down" in played.result.reason


def test_server_recovers__not_after_an_hour(story):
    played = story.play([refuse(429, headers={"retry-after": "3600"})], [look])
    assert played.result.stopped == "failed"
    assert len(played.server.requests) == 1


def test_server_recovers__from_a_stall(story):
    timeouts = Timeouts(connect=2, first_byte=0.3, idle=0.3)
    played = story.play([reply("fi", stall()), "five"], [look], timeouts=timeouts)
    assert played.result.output == "five"


@pytest.mark.parametrize("abort", [False, True])
def test_server_recovers__from_a_break(story, abort):
    played = story.play([reply("fi", break_off(abort=abort)), "five"], [look])
    assert played.result.output == "five"
    assert played.result.history[-1].parts[0].text == "five"


def test_server_recovers__from_a_broken_call_that_never_runs(story):
    broken = reply(call("look", '{"x', size=99), break_off())
    played = story.play([broken, "five"], [look])
    assert played.result.calls == []
    assert played.result.output == "five"


def test_server_recovers__when_nobody_answers(story):
    with wire.WireServer() as server:
        pass
    model = wire.model(server, story.wire, stream=story.stream)
    events = []
    result = asyncio.run(Agent(model, limits=Limits(tries=2, backoff=0.001)).run("Go.", watchers=[events.append]))
    assert result.stopped == "failed"
    assert "is it running" in result.reason
    assert len([event for event in events if isinstance(event, ModelRetried)]) == 1


REFUSALS = [(400, "nonsense"), (401, "who are you"), (403, "not you"), (404, "no such model")]


@pytest.mark.parametrize(("status", "message"), REFUSALS)
def test_server_refuses(story, status, message):
    played = story.play([refuse(status, message), "never"], [look])
    assert played.result.stopped == "failed"
    assert len(played.server.requests) == 1
    assert message in played.result.reason
    assert "test-key" not in played.result.reason


def test_server_refuses__with_a_web_page(story):
    played = story.play([raw(b"<html>Sign in</html>", content_type="text/html"), "never"], [look])
    assert played.result.stopped == "failed"
    assert "check base_url" in played.result.reason
    assert (len(played.server.requests), played.result.usage.requests) == (1, 1)


def overflow(story):
    message = "maximum context length is 10 tokens" if story.wire == "openai" else "prompt is too long: 20 tokens > 10 maximum"
    return refuse(400, message, kind="context_length_exceeded")


@tool(effect="read")
async def read_log(day: int) -> str:
    """Read a day's log."""
    return f"Day {day}: " + "nothing happened. " * 20


def test_context_overflow(story):
    days = [call("read_log", {"day": day}, id=f"c{day}") for day in range(12)]
    played = story.play([*days, overflow(story), "NOTES: quiet days", "Nothing happened."], [read_log], prompt="Look for trouble.")
    assert played.result.output == "Nothing happened."
    assert [record.problem for record in played.result.calls] == [None] * 12  # none was made again
    last = story.text(played.server, -1)
    assert "NOTES: quiet days" in last
    assert "1. Look for trouble." in last
    assert len(last) < len(story.text(played.server, 12))


def test_context_overflow__of_what_cannot_be_compacted(story):
    played = story.play([overflow(story), "never"], [look])
    assert played.result.stopped == "failed"
    assert "more than" in played.result.reason
    assert "fork the run" in played.result.reason
    assert len(played.server.requests) == 1


def test_server_bills_for_nothing(story):
    nonsense = raw(b"data: {broken\n\n") if story.stream else raw(b"{broken", content_type="application/json")
    played = story.play([nonsense, say("five")], [look])
    assert played.result.output == "five"
    assert played.result.usage.requests == 2
    assert played.result.usage.input_tokens >= 100


def test_no_retry_after_an_effect(streamed):
    written: list[str] = []

    @tool
    async def write(what: str) -> str:
        """Write."""
        written.append(what)
        return what

    broken = reply(call("write", {"what": "a"}), wire.pause(0.05), break_off(abort=True))
    played = streamed.play([broken, refuse(500), "done"], [write], policy=[allow("*")], limits=QUICK)
    assert written == ["a"]
    assert played.results() == ["a"]
    assert played.result.output == "done"
