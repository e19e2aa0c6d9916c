"""What every wire does alike: the same script gives the same deltas, streamed or whole, and nothing half-received is a call."""

import asyncio
import threading

import pytest

import wire
from properties import EXPLORE
from treadle.core.calls import Call, Result, Written
from treadle.core.errors import ModelUnavailable, ReplyBroken
from treadle.core.messages import History, Message, Text, Thinking, person_message
from treadle.core.requests import CallDelta, CallDone, Options, ReplyEnded, Request, TextDelta, Usage
from wire import (
    ADD,
    WireServer,
    ask,
    break_off,
    call,
    calls_in,
    collect,
    gate,
    hear,
    reply,
    request,
    said,
    say,
    text_in,
    think,
    thinking_in,
)
from wire.script import Used

every = pytest.mark.parametrize(("name", "stream"), wire.ALL)


@every
def test_words_arrive(name, stream):
    with WireServer(["Good morning, ☀ everyone."]) as server:
        deltas = ask(wire.model(server, name, stream=stream))
    assert text_in(deltas) == "Good morning, ☀ everyone."
    assert isinstance(deltas[-1], ReplyEnded)
    assert deltas[-1].finish == "done"
    assert deltas[-1].model == f"{name}:wired"
    assert len([delta for delta in deltas if isinstance(delta, TextDelta)]) == (4 if stream else 1)


@every
def test_thinking_is_kept_apart_from_words(name, stream):
    with WireServer([reply(think("Let me see."), say("Four."))]) as server:
        deltas = ask(wire.model(server, name, stream=stream))
    assert (thinking_in(deltas), text_in(deltas)) == ("Let me see.", "Four.")


@every
def test_calls_arrive_in_order_with_their_arguments(name, stream):
    parts = say("I'll add."), call("add", {"a": 1, "b": 2}), call("now"), call("add", {"a": {"deep": ["}", "{"]}})
    with WireServer([reply(*parts)]) as server:
        deltas = ask(wire.model(server, name, stream=stream))
    calls = calls_in(deltas)
    assert text_in(deltas) == "I'll add."
    assert [(one.name, one.text.replace(" ", ""), one.cut) for one in calls] == [
        ("add", '{"a":1,"b":2}', False),
        ("now", "{}", False),
        ("add", '{"a":{"deep":["}","{"]}}', False),
    ]
    assert deltas[-1].finish == "calls"
    assert len({one.id for one in calls}) == 3


@every
def test_a_call_is_announced_before_it_is_done(name, stream):
    with WireServer([reply(call("add", {"a": 1}), call("now"))]) as server:
        deltas = ask(wire.model(server, name, stream=stream))
    for one in calls_in(deltas):
        assert deltas.index(CallDelta(one.id, one.name)) < deltas.index(CallDone(one))


@every
def test_two_calls_with_one_id_get_two_ids(name, stream):
    with WireServer([reply(call("add", {"a": 1}, id="same"), call("add", {"a": 2}, id="same"))]) as server:
        calls = calls_in(ask(wire.model(server, name, stream=stream)))
    assert len({one.id for one in calls}) == 2


@every
def test_usage_is_counted(name, stream):
    with WireServer([reply("hi", used=Used(read=1000, wrote=30, cached=800))]) as server:
        used = ask(wire.model(server, name, stream=stream))[-1].usage
    cached = 0 if name == "ollama" else 800
    assert used == Usage(requests=1, input_tokens=1000, output_tokens=30, cache_read_tokens=cached)


@every
def test_a_server_that_counts_nothing_has_still_been_asked_once(name, stream):
    with WireServer([reply("hi", used=None)]) as server:
        assert ask(wire.model(server, name, stream=stream))[-1].usage == Usage(requests=1)


def test_what_a_broken_reply_has_used_is_told():
    for name, used in (("openai", Usage(requests=1)), ("anthropic", Usage(requests=1, input_tokens=100, output_tokens=20))):
        with WireServer([reply(say("hello"), break_off())]) as server:
            _, error = hear(wire.model(server, name))
        assert error.usage == used


@every
def test_a_reply_that_ran_into_its_limit_says_so(name, stream):
    with WireServer([reply("Once upon a", finish="length")]) as server:
        assert ask(wire.model(server, name, stream=stream))[-1].finish == "length"


@pytest.mark.parametrize(("name", "stream"), wire.EVERY)
def test_a_reply_that_was_filtered_says_so(name, stream):
    with WireServer([reply("I can't", finish="filtered")]) as server:
        assert ask(wire.model(server, name, stream=stream))[-1].finish == "filtered"


@every
def test_an_empty_reply_is_a_reply(name, stream):
    with WireServer([reply()]) as server:
        deltas = ask(wire.model(server, name, stream=stream))
    assert [type(delta) for delta in deltas] == [ReplyEnded]


@pytest.mark.parametrize(("name", "stream"), wire.EVERY)
@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "b"', '{"a": "x'])
def test_a_call_that_was_cut_off_by_the_limit_says_so(name, stream, text):
    with WireServer([reply(call("add", {"a": 1}), call("add", text), finish="length")]) as server:
        first, last = calls_in(ask(wire.model(server, name, stream=stream)))
    assert not first.cut
    assert last.cut


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_call_that_is_whole_was_not_cut_off(name):
    with WireServer([reply(call("add", {"a": 1}), finish="length")]) as server:
        (one,) = calls_in(ask(wire.model(server, name)))
    assert not one.cut


@pytest.mark.parametrize(("name", "stream"), [("openai", True), ("openai", False), ("anthropic", True)])
def test_arguments_that_are_no_json_are_handed_on_as_they_are(name, stream):
    with WireServer([reply(call("add", "{'a': 1,}"), call("now"))]) as server:
        broken, _ = calls_in(ask(wire.model(server, name, stream=stream)))
    assert broken == Written(broken.id, "add", "{'a': 1,}")


@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama"])
def test_a_call_is_done_while_the_reply_still_streams(name):
    started = threading.Event()
    with WireServer([reply(call("add", {"a": 1, "b": 2}), gate(started), say("and so on"))]) as server:

        async def listen():
            order = []
            async for delta in wire.model(server, name).reply(request()):
                if isinstance(delta, CallDone):
                    order.append(("done", len(server.sent)))
                    started.set()
                elif isinstance(delta, ReplyEnded):
                    order.append(("ended", len(server.sent)))
            return order

        (done, sent_then), (ended, sent_at_last) = asyncio.run(listen())
    assert (done, ended) == ("done", "ended")
    assert sent_then < sent_at_last


# Breaking off, everywhere

LONG = (
    think("Hm."),
    say("I'll add."),
    call("add", {"a": 1, "b": "x}"}, id="c1"),
    call("now", {}, id="c2"),
    call("add", {"a": [1, {"b": 2}]}, id="c3"),
)


@every
def test_a_stream_that_breaks_at_any_byte_is_broken_or_complete(name, stream):
    with WireServer([reply(*LONG, used=None)]) as server:
        whole = ask(wire.model(server, name, stream=stream))
        size = sum(len(sent.data) for sent in server.sent)
        step = 1 if EXPLORE else 3 if size < 1500 else 7
        server.requests.clear()
        server.script = lambda _: reply(*LONG, used=None, break_at=(len(server.requests) - 1) * step)

        async def break_everywhere():
            model = wire.model(server, name, stream=stream)
            return [await listen(model) for _ in range(0, size, step)]

        outcomes = asyncio.run(break_everywhere())
    calls = calls_in(whole)
    for deltas, error in outcomes:
        heard = calls_in(deltas)
        assert heard == calls[: len(heard)]
        assert deltas == whole if error is None else type(error) in (ReplyBroken, ModelUnavailable)
    assert [error is None for _, error in outcomes] == sorted(error is None for _, error in outcomes)
    assert type(outcomes[0][1]) is ModelUnavailable
    assert any(type(error) is ReplyBroken for _, error in outcomes)


async def listen(model):
    deltas = []
    try:
        async for delta in model.reply(request()):
            deltas.append(delta)
    except (ReplyBroken, ModelUnavailable) as error:
        return deltas, error
    return deltas, None


@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama"])
def test_a_stream_that_ends_without_saying_why_is_broken(name):
    with WireServer([reply(say("hello"), call("add", {"a": 1}), ended=False)]) as server:
        deltas, error = hear(wire.model(server, name))
    assert type(error) is ReplyBroken
    assert text_in(deltas) == "hello"
    assert len(calls_in(deltas)) == 1


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_call_without_arguments_yet_is_not_done_when_the_stream_breaks(name):
    with WireServer([reply(call("now", ""), break_after=2 if name == "openai" else 4)]) as server:
        deltas, error = hear(wire.model(server, name))
    assert calls_in(deltas) == []
    assert type(error) is ReplyBroken


# What is sent

ROUND = (
    person_message("Add 1 and 2."),
    Message("model", (Thinking("Easy."), Text("I'll add."), Call("c1", "add", {"a": 1, "b": 2}), Call("c2", "now", {}))),
    Message("tools", (Result("c1", "add", "3"), Result("c2", "now", "no clock", problem="raised"))),
)


@every
def test_each_message_is_encoded_once_in_a_run(name, stream):
    with WireServer(lambda _: "fine") as server:

        async def rounds():
            model = wire.model(server, name, stream=stream)
            history = request(*ROUND).history
            for _ in range(3):
                await collect(model, Request("Be brief.", history))
                history = history.plus(said("fine"), person_message("And now?"))

        asyncio.run(rounds())
    sent = [received.body["messages"] for received in server.requests]
    assert [len(messages) for messages in sent] == [len(sent[0]), len(sent[0]) + 2, len(sent[0]) + 4]


@every
def test_no_instructions_and_no_tools_leave_no_trace(name, stream):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name, stream=stream), Request("", request("hi").history))
    body = server.requests[0].body
    assert "tools" not in body
    assert "system" not in body
    assert [message["role"] for message in body["messages"]] == ["user"]


@every
def test_tools_are_told_with_their_schema(name, stream):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name, stream=stream), request(tools=(ADD,)))
    (tool,) = server.requests[0].body["tools"]
    described = tool.get("function", tool)
    assert described["name"] == "add"
    assert described["description"] == "Add two numbers."
    assert described.get("parameters", described.get("input_schema")) == ADD.parameters


@every
def test_other_tools_and_options_are_told_when_they_change(name, stream):
    with WireServer(lambda _: "fine") as server:

        async def change():
            model = wire.model(server, name, stream=stream)
            for temperature in (0.1, 0.9):
                await collect(model, request(tools=(ADD,) if temperature < 0.5 else (), options=Options(temperature=temperature)))

        asyncio.run(change())
    first, second = (received.body for received in server.requests)
    assert "tools" in first
    assert "tools" not in second
    assert [body.get("temperature", body.get("options", {}).get("temperature")) for body in (first, second)] == [0.1, 0.9]


@every
def test_the_wish_to_stream_cannot_be_overridden(name, stream):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name, stream=stream), request(options=Options(extra={"stream": not stream})))
    assert server.requests[0].body["stream"] is stream


@every
def test_a_message_without_words_and_calls_is_left_out(name, stream):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name, stream=stream), request("hi", Message("model", (Thinking("Hm."),)), "still there?"))
    roles = [message["role"] for message in server.requests[0].body["messages"]]
    assert roles[-2:] == ["user", "user"]


@every
def test_a_note_without_any_history_is_all_that_is_said(name, stream):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, name, stream=stream), Request("", History(), note="Begin."))
    (message,) = server.requests[0].body["messages"]
    assert "[Begin.]" in str(message["content"])
