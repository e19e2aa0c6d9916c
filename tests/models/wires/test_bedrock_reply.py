"""Replies of Bedrock: what comes back, streamed or whole, cut anywhere, damaged or broken off; and botocore reads the mock."""

import asyncio
import json
import threading
from contextlib import closing

import pytest

import wire
from treadle import Agent, allow
from treadle.core.calls import Opaque, Written
from treadle.core.errors import ContextTooLong, ModelRefused, ModelUnavailable, ReplyBroken
from treadle.core.requests import CallDelta, CallDone, ReplyEnded, TextDelta, ThinkingDelta, Usage
from treadle.models.server_errors import ServerIdentity
from treadle.models.stream_splitters import AwsEventSplitter
from treadle.models.wires.bedrock_reply import BedrockReply
from treadle.models.wires.partial_calls import CallIds
from wire import WireServer, ask, call, calls_in, collect, gate, hear, raw, reply, request, say, text_in, think, thinking_in
from wire.bedrock import STREAM, event, exception, frame, streamed
from wire.converse import botocore_client, problems_of_event, problems_of_reply, problems_of_request
from wire.script import Used

both = pytest.mark.parametrize("stream", [True, False])


def model(server, **settings):
    return wire.model(server, "bedrock", **settings)


def heard(*frames):
    """The deltas of a stream of these frames, and the error that ended it."""
    with WireServer([raw(*frames, content_type=STREAM)]) as server:
        return hear(model(server))


def whole(**fields):
    body = {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn", **fields}
    with WireServer([raw(json.dumps(body).encode(), content_type="application/json")]) as server:
        return hear(model(server, stream=False))


def delta(**fields):
    return event("contentBlockDelta", delta=fields, contentBlockIndex=0)


def over(reason="end_turn"):
    return event("messageStop", stopReason=reason)


STOP = event("contentBlockStop", contentBlockIndex=0)


# Words, thinking, calls


@both
def test_words_arrive(stream):
    with WireServer(["Good morning, ☀ everyone."]) as server:
        deltas = ask(model(server, stream=stream))
    assert text_in(deltas) == "Good morning, ☀ everyone."
    assert deltas[-1] == ReplyEnded("done", Usage(requests=1, input_tokens=100, output_tokens=20), "bedrock:wired")
    assert len([each for each in deltas if isinstance(each, TextDelta)]) == (4 if stream else 1)


@both
def test_signed_reasoning_is_shown_and_kept_to_be_sent_back(stream):
    with WireServer([(think("Let me see.", signature="seal", size=100), say("Four."))]) as server:
        deltas = ask(model(server, stream=stream))
    kept = deltas.pop(1)
    assert deltas[:2] == [ThinkingDelta("Let me see."), TextDelta("Four.")]
    assert isinstance(kept, Opaque)
    assert kept.wire == "bedrock"
    assert json.loads(kept.json) == {"reasoningContent": {"reasoningText": {"text": "Let me see.", "signature": "seal"}}}


@both
def test_reasoning_without_a_signature_is_shown_only(stream):
    with WireServer([(think("Hm, "), think("so."), say("Four."))]) as server:
        deltas = ask(model(server, stream=stream))
    assert (thinking_in(deltas), text_in(deltas)) == ("Hm, so.", "Four.")
    assert not any(isinstance(each, Opaque) for each in deltas)


def test_a_block_of_reasoning_comes_back_as_it_came():
    block = '{ "reasoningText":{"signature":"seal","text":"Hm", "new": [1, 2.50]} }'
    body = b'{"output":{"message":{"content":[{"reasoningContent":%b},{"text":"hi"}]}},"stopReason":"end_turn"}' % block.encode()
    with WireServer([raw(body, content_type="application/json")]) as server:
        deltas = ask(model(server, stream=False))
    assert deltas[:2] == [ThinkingDelta("Hm"), Opaque("bedrock", f'{{"reasoningContent":{block}}}')]


def test_hidden_reasoning_is_kept_also_in_pieces():
    pieces = [delta(reasoningContent={"redactedContent": part}) for part in ("YQ==", "YmM=")]
    deltas, _ = heard(*pieces, STOP, delta(text="hi"), over())
    assert deltas[:2] == [Opaque("bedrock", '{"reasoningContent":{"redactedContent":"YWJj"}}'), TextDelta("hi")]
    deltas, _ = whole(output={"message": {"content": [{"reasoningContent": {"redactedContent": "YWJj"}}]}})
    assert isinstance(deltas[0], Opaque)
    assert json.loads(deltas[0].json) == {"reasoningContent": {"redactedContent": "YWJj"}}


def test_reasoning_and_a_signature_may_come_in_pieces_and_without_an_end():
    pieces = [delta(reasoningContent=part) for part in ({"text": "a"}, {"text": "b"}, {"signature": "se"}, {"signature": "al"})]
    kept = Opaque("bedrock", '{"reasoningContent":{"reasoningText":{"text":"ab","signature":"seal"}}}')
    assert heard(*pieces, delta(text="hi"), over())[0][2:4] == [kept, TextDelta("hi")]
    assert heard(*pieces, over())[0][2] == kept
    started = event("contentBlockStart", start={"toolUse": {"toolUseId": "c", "name": "now"}}, contentBlockIndex=1)
    assert heard(*pieces, started, over())[0][2:4] == [kept, CallDelta("c", "now")]


@both
def test_calls_arrive_in_order_with_their_arguments(stream):
    parts = say("I'll add."), call("add", {"a": 1, "b": 2}), call("now"), call("add", {"a": {"deep": ["}", "{"]}})
    with WireServer([reply(*parts)]) as server:
        deltas = ask(model(server, stream=stream))
    calls = calls_in(deltas)
    assert text_in(deltas) == "I'll add."
    assert [(one.name, one.text.replace(" ", ""), one.cut) for one in calls] == [
        ("add", '{"a":1,"b":2}', False),
        ("now", "{}", False),
        ("add", '{"a":{"deep":["}","{"]}}', False),
    ]
    assert deltas[-1].finish == "calls"
    for one in calls:
        assert deltas.index(CallDelta(one.id, one.name)) < deltas.index(CallDone(one))


@both
def test_two_calls_with_one_id_get_two_ids(stream):
    with WireServer([reply(call("add", {"a": 1}, id="same"), call("add", {"a": 2}, id="same"))]) as server:
        calls = calls_in(ask(model(server, stream=stream)))
    assert len({one.id for one in calls}) == 2


def test_a_call_is_done_while_the_reply_still_streams():
    started = threading.Event()
    with WireServer([reply(call("add", {"a": 1, "b": 2}), gate(started), say("and so on"))]) as server:

        async def listen():
            order = []
            async for each in model(server).reply(request()):
                if isinstance(each, CallDone):
                    order.append(len(server.sent))
                    started.set()
                elif isinstance(each, ReplyEnded):
                    order.append(len(server.sent))
            return order

        sent_then, sent_at_last = asyncio.run(listen())
    assert sent_then < sent_at_last


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "b"', '{"a": "x'])
@both
def test_a_call_that_was_cut_off_by_the_limit_says_so(stream, text):
    with WireServer([reply(call("add", {"a": 1}), call("add", text), finish="length")]) as server:
        first, last = calls_in(ask(model(server, stream=stream)))
    assert (first.cut, last.cut) == (False, True)


def test_an_unreadable_call_is_done_when_another_block_begins():
    begun = event("contentBlockStart", start={"toolUse": {"toolUseId": "c1", "name": "add"}}, contentBlockIndex=0)
    bad = begun, delta(toolUse={"input": "{a:"}), STOP
    for following in (delta(text="so"), delta(reasoningContent={"text": "so"}), begun):
        deltas, _ = heard(*bad, following, over("max_tokens"))
        assert deltas[1] == CallDone(Written("c1", "add", "{a:"))


# Ends


@both
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "done"),
        ("tool_use", "done"),  # without a call in it
        ("stop_sequence", "done"),
        ("something_newer", "done"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "window"),
        ("guardrail_intervened", "filtered"),
        ("content_filtered", "filtered"),
    ],
)
def test_stop_reasons(stream, reason, finish):
    said = [{"text": "hi"}]
    deltas, _ = heard(delta(text="hi"), over(reason)) if stream else whole(output={"message": {"content": said}}, stopReason=reason)
    assert (deltas[0], deltas[-1].finish) == (TextDelta("hi"), finish)


@pytest.mark.parametrize("reason", ["malformed_model_output", "malformed_tool_use"])
def test_what_the_server_itself_could_not_read_is_a_broken_reply(reason):
    for deltas, error in (heard(delta(text="hi"), over(reason)), whole(stopReason=reason)):
        assert type(error) is ReplyBroken
        assert reason in str(error)
        assert not any(isinstance(each, ReplyEnded) for each in deltas)


@both
def test_all_input_is_counted_cached_or_not(stream):
    counts = {"inputTokens": 5, "outputTokens": 9, "totalTokens": 134, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 20}
    deltas, _ = heard(over(), event("metadata", usage=counts, metrics={"latencyMs": 1})) if stream else whole(usage=counts)
    assert deltas[-1].usage == Usage(requests=1, input_tokens=125, output_tokens=9, cache_read_tokens=100, cache_write_tokens=20)


@both
def test_a_server_that_counts_nothing_has_still_been_asked_once(stream):
    with WireServer([reply("hi", used=None)]) as server:
        assert ask(model(server, stream=stream))[-1].usage == Usage(requests=1)


def test_a_stream_is_over_when_it_was_said_what_it_used():
    reading, splitter = BedrockReply(ServerIdentity("bedrock:wired", "http://127.0.0.1"), CallIds(1)), AwsEventSplitter()
    told = []
    for each in (delta(text="hi"), over(), event("metadata", usage={"inputTokens": 5, "outputTokens": 1, "totalTokens": 6})):
        list(reading.read(splitter.feed(each)))
        told.append((reading.finished, reading.ended))
    assert told == [(False, False), (True, False), (True, True)]


@both
def test_an_empty_reply_is_a_reply(stream):
    with WireServer([reply()]) as server:
        assert [type(each) for each in ask(model(server, stream=stream))] == [ReplyEnded]


def test_a_connection_is_used_again():
    with WireServer(lambda _: reply("hi", used=Used())) as server:

        async def twice():
            asked = model(server)
            return [await collect(asked, request()) for _ in range(2)]

        asyncio.run(twice())
    assert [received.connection for received in server.requests] == [1, 1]


def test_events_and_blocks_that_are_not_known_are_left_alone():
    deltas, _ = heard(
        event("messageStart", role="assistant"),
        event("somethingNewer", x=1),
        event("contentBlockStart", start={"image": {"format": "png"}}, contentBlockIndex=0),
        event("contentBlockStart", contentBlockIndex=0),
        delta(citation={"title": "x"}),
        delta(toolUse={"input": "{}"}),
        delta(),
        event("contentBlockDelta", contentBlockIndex=0),
        delta(text="hi"),
        over(),
    )
    assert deltas == [TextDelta("hi"), ReplyEnded("done", Usage(requests=1), "bedrock:wired")]
    content = [{"image": {"format": "png"}}, {"text": ""}, {"text": "hi"}, {"reasoningContent": {}}]
    assert whole(output={"message": {"content": content}})[0] == deltas


# What goes wrong


@pytest.mark.parametrize(
    ("kind", "message", "expected", "status"),
    [
        ("throttlingException", "Too many tokens, please wait before trying again.", ModelUnavailable, 429),
        ("serviceUnavailableException", "oh", ModelUnavailable, 503),
        ("internalServerException", "oh", ModelUnavailable, 500),
        ("modelStreamErrorException", "The model failed.", ModelUnavailable, 424),
        ("modelTimeoutException", "too slow", ModelUnavailable, 408),
        ("validationException", "The stop sequence is blank.", ModelRefused, 400),
        ("validationException", "Input is too long for requested model.", ContextTooLong, 400),
        ("somethingNewerException", "oh", ModelUnavailable, 500),
    ],
)
def test_an_exception_in_the_stream_becomes_the_right_error(kind, message, expected, status):
    deltas, error = heard(delta(text="hi"), exception(kind, message), over())
    assert deltas == [TextDelta("hi")]
    assert type(error) is expected
    assert error.status == status
    assert message in str(error)


def test_an_error_frame_is_an_error():
    _, error = heard(frame({":message-type": "error", ":error-code": "InternalServerException", ":error-message": "oh"}, b""))
    assert type(error) is ModelUnavailable
    assert "oh" in str(error)


@pytest.mark.parametrize("body", [b"{}", b"no JSON", b'{"output":{}}', b'{"output":{"message":{"content":[{"text":1}]}}}', b"[]"])
def test_a_body_that_is_no_reply_is_broken(body):
    with WireServer([raw(body, content_type="application/json")]) as server:
        deltas, error = hear(model(server, stream=False))
    assert deltas == []
    assert type(error) is ReplyBroken


def test_reasoning_that_cannot_be_read_is_broken():
    assert type(whole(output={"message": {"content": [{"reasoningContent": [1]}]}})[1]) is ReplyBroken
    assert type(heard(delta(reasoningContent={"redactedContent": "no base64!"}), over())[1]) is ReplyBroken


def test_a_damaged_frame_breaks_the_reply():
    damaged = bytearray(delta(text="hello"))
    damaged[-10] ^= 1
    deltas, error = heard(delta(text="hi"), bytes(damaged), over())
    assert deltas == [TextDelta("hi")]
    assert type(error) is ReplyBroken
    assert "damaged frame (wrong checksum)" in str(error)


def test_a_stream_that_ends_without_saying_why_is_broken():
    with WireServer([reply(say("hello"), call("add", {"a": 1}), ended=False)]) as server:
        deltas, error = hear(model(server))
    assert type(error) is ReplyBroken
    assert text_in(deltas) == "hello"
    assert len(calls_in(deltas)) == 1


# Cut, damaged and broken off everywhere

LONG = (
    think("Hm.", signature="seal"),
    say("I'll add, ☀."),
    call("add", {"a": 1, "b": "x}"}, id="c1"),
    call("now", {}, id="c2"),
    call("add", {"a": [1, {"b": 2}]}, id="c3"),
)


def read(pieces):
    """The deltas of a stream in these pieces, and whether it was broken."""
    reading, splitter = BedrockReply(ServerIdentity("bedrock:wired", "http://127.0.0.1"), CallIds(1)), AwsEventSplitter()
    deltas = []
    try:
        for piece in pieces:
            deltas += reading.read(splitter.feed(piece))
        deltas += reading.read(splitter.close())
        deltas += reading.end()
    except ReplyBroken:
        return deltas, True
    return deltas, False


def test_frames_cut_at_any_byte_give_the_same_deltas():
    stream = b"".join(streamed(reply(*LONG), 0))
    expected = read([stream])
    assert len(calls_in(expected[0])) == 3
    assert read([bytes([byte]) for byte in stream]) == expected
    for place in range(len(stream)):
        assert read([stream[:place], stream[place:]]) == expected


def test_a_byte_that_is_damaged_anywhere_breaks_the_reply_and_changes_nothing_before_it():
    stream = b"".join(streamed(reply(*LONG, used=None), 0))
    expected, _ = read([stream])
    for place in range(len(stream)):
        deltas, broken = read([stream[:place] + bytes([stream[place] ^ 0x20]) + stream[place + 1 :]])
        assert broken
        assert deltas == expected[: len(deltas)]


@both
def test_a_stream_that_breaks_at_any_byte_is_broken_or_complete(stream):
    with WireServer([reply(*LONG, used=None)]) as server:
        expected = ask(model(server, stream=stream))
        size = sum(len(sent.data) for sent in server.sent)
        step = 1 if size < 1500 else 7
        server.requests.clear()
        server.script = lambda _: reply(*LONG, used=None, break_at=(len(server.requests) - 1) * step)

        async def break_everywhere():
            asked = model(server, stream=stream)
            return [await listen(asked) for _ in range(0, size, step)]

        outcomes = asyncio.run(break_everywhere())
    for deltas, error in outcomes:
        assert calls_in(deltas) == calls_in(expected)[: len(calls_in(deltas))]
        assert deltas == expected if error is None else type(error) in (ReplyBroken, ModelUnavailable)
    assert [error is None for _, error in outcomes] == sorted(error is None for _, error in outcomes)
    assert type(outcomes[0][1]) is ModelUnavailable
    assert any(type(error) is ReplyBroken for _, error in outcomes)


async def listen(asked):
    deltas = []
    try:
        async for each in asked.reply(request()):
            deltas.append(each)
    except (ReplyBroken, ModelUnavailable) as error:
        return deltas, error
    return deltas, None


# The mock speaks as Bedrock does, as far as botocore knows

MESSAGES = [{"role": "user", "content": [{"text": "hi"}]}]


def events_of(client):
    with closing(client.converse_stream(modelId="a.b:0", messages=MESSAGES)["stream"]) as events:
        return list(events)


def test_botocore_reads_whole_replies_of_the_mock():
    with WireServer([reply(*LONG)]) as server, botocore_client(server.url) as client:
        answer = client.converse(modelId="a.b:0", messages=MESSAGES)
    content = answer["output"]["message"]["content"]
    assert content[0] == {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "seal"}}}
    assert content[1] == {"text": "I'll add, ☀."}
    assert content[2] == {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1, "b": "x}"}}}
    assert (answer["stopReason"], answer["usage"]["outputTokens"]) == ("tool_use", 20)
    assert problems_of_reply(json.loads(wire.bedrock.whole(reply(*LONG), 0))) == []


def test_botocore_reads_streams_of_the_mock():
    with WireServer([reply(*LONG)]) as server, botocore_client(server.url) as client:
        events = events_of(client)
    assert [problem for each in events for problem in problems_of_event(each)] == []
    changes = [each["contentBlockDelta"]["delta"] for each in events if "contentBlockDelta" in each]
    assert "".join(change["text"] for change in changes if "text" in change) == "I'll add, ☀."
    assert "".join(change["toolUse"]["input"] for change in changes if "toolUse" in change).startswith('{"a": 1, "b": "x}"}')
    assert [next(iter(each)) for each in events[-2:]] == ["messageStop", "metadata"]
    assert events[0] == {"messageStart": {"role": "assistant"}}


def test_botocore_reads_refusals_and_exceptions_of_the_mock():
    pytest.importorskip("botocore", reason="botocore isn't installed")
    from botocore.exceptions import ClientError, EventStreamError

    answers = [
        wire.refuse(400, "Input is too long for requested model.", kind="ValidationException"),
        raw(event("messageStart", role="assistant"), exception("throttlingException", "slow down"), content_type=STREAM),
    ]
    with WireServer(answers) as server, botocore_client(server.url) as client:
        with pytest.raises(ClientError, match=r"\(ValidationException\).*too long"):
            client.converse(modelId="a.b:0", messages=MESSAGES)
        with pytest.raises(EventStreamError, match=r"\(throttlingException\).*slow down"):
            events_of(client)


def test_botocore_asks_for_the_same_path():
    name = "arn:aws:bedrock:us-east-1:123456789012:prompt/ABCDEFGHIJ:1"
    with WireServer(lambda _: "fine") as server:
        with botocore_client(server.url) as client:
            client.converse(modelId=name, messages=MESSAGES)
        ask(model(server, stream=False, name=name))
    theirs, ours = server.requests
    assert theirs.path == ours.path


# A whole run


@both
def test_an_agent_goes_on_with_the_reasoning_and_the_results(stream):
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    replies = [(think("Easy.", signature="seal"), call("add", {"a": 1, "b": 2}, id="c1")), "three"]
    with WireServer(replies) as server:
        claude = model(server, stream=stream, name="anthropic.claude-sonnet-4-20250514-v1:0")
        result = Agent(claude, tools=[add], policy=[allow("*")]).run_sync("1 + 2?")
    assert result.output == "three"
    assert [problems_of_request(received.body) for received in server.requests] == [[], []]
    asked, called, answered = server.requests[1].body["messages"]
    assert [message["role"] for message in (asked, called, answered)] == ["user", "assistant", "user"]
    assert called["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "Easy.", "signature": "seal"}}},
        {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1, "b": 2}}},
    ]
    assert answered["content"][0] == {"toolResult": {"toolUseId": "c1", "content": [{"text": "3"}], "status": "success"}}
