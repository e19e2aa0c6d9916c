"""Anthropic's wire: blocks, seals, marks for the cache, and when a call is done."""

import json

import pytest

import wire
from treadle.core.calls import Call, Opaque, Result, Written
from treadle.core.errors import MissingKey
from treadle.core.messages import Message, Text, Thinking, person_message
from treadle.core.requests import Options, ReplyEnded, TextDelta, ThinkingDelta, Traits, Usage
from treadle.models.wires.anthropic import Anthropic, from_name
from treadle.models.wires.tool_names import clean_call_id
from wire import ADD, WireServer, ask, calls_in, raw, request, say, text_in, think

MARK = {"type": "ephemeral"}


def sent(asked, **settings):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "anthropic", **settings), asked)
    return server.requests[0].body


def heard(*events):
    pieces = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    with WireServer([raw(*pieces)]) as server:
        return ask(wire.model(server, "anthropic"))


def block(index, content_block, *deltas):
    yield {"type": "content_block_start", "index": index, "content_block": content_block}
    yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def over(reason="end_turn"):
    return {"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}


# What is sent


SHAPE = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}


def test_the_schema_of_an_answer_and_the_effort_are_one_field():
    held = {"format": {"type": "json_schema", "schema": SHAPE}}
    assert sent(request(shape=SHAPE, tools=(ADD,)))["output_config"] == held
    newer = sent(request(shape=SHAPE, options=Options(reasoning="minimal")), name="claude-opus-5-5")
    assert (newer["output_config"], newer["thinking"]) == ({"effort": "low", **held}, {"type": "adaptive"})
    older = sent(request(options=Options(reasoning="low")), name="claude-sonnet-4-5")
    assert ("output_config" in older, older["thinking"]) == (False, {"type": "enabled", "budget_tokens": 4096})
    own = Options(extra={"output_config": {"effort": "max"}}, reasoning="low")
    assert sent(request(options=own, shape=SHAPE), name="claude-opus-5-5")["output_config"] == {"effort": "max", **held}


@pytest.mark.parametrize("name", ["claude-opus-5-5", "claude-sonnet-4-5"])
@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_call_that_is_required_leaves_no_room_to_think(name, choice):
    body = sent(request(tools=(ADD,), options=Options(reasoning="high", tool_choice=choice)), name=name)
    assert (body["tool_choice"]["type"], "thinking" in body) == ("any" if choice == "required" else "tool", False)


@pytest.mark.parametrize(("limit", "budget"), [(500, None), (2_046, None), (2_048, 1_024), (4_000, 2_976), (64_000, 16_384)])
def test_thinking_fits_into_the_limit_or_is_left_out(limit, budget):
    options = Options(reasoning="medium", max_tokens=limit)
    body = sent(request(options=options), name="claude-sonnet-4-5")
    assert body.get("thinking", {}).get("budget_tokens") == budget


def test_blank_instructions_are_not_sent():
    assert "system" not in sent(request(instructions=" \n"))


def test_messages_as_this_wire_has_them():
    history = (
        person_message("Add 1 and 2."),
        Message(
            "model",
            (
                Thinking("Easy.", "seal"),
                Thinking("", "redacted:abc"),
                Thinking("somebody else's"),
                Text("I'll add."),
                Text(" \n"),
                Call("c1", "add", {"a": 1}),
                Call("fn.now:0", "now", {}),
            ),
        ),
        Message("tools", (Result("c1", "add", "3"), Result("fn.now:0", "now", "no clock", problem="raised"))),
        person_message("And now?"),
    )
    body = sent(request(*history))
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Add 1 and 2."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Easy.", "signature": "seal"},
                {"type": "redacted_thinking", "data": "abc"},
                {"type": "text", "text": "I'll add."},
                {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
                {"type": "tool_use", "id": clean_call_id("fn.now:0"), "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "3"},
                {"type": "tool_result", "tool_use_id": clean_call_id("fn.now:0"), "content": "no clock", "is_error": True},
            ],
        },
        {"role": "user", "content": [{"type": "text", "text": "And now?", "cache_control": MARK}]},
    ]


def test_the_mark_slides_to_the_last_block_and_only_there():
    results = Message("tools", (Result("c1", "now", "noon"), Result("c2", "now", "one")))
    calls = Message("model", (Call("c1", "now", {}), Call("c2", "now", {})))
    body = sent(request("hi", calls, results))
    assert [["cache_control" in block for block in message["content"]] for message in body["messages"]] == [
        [False],
        [False, False],
        [False, True],
    ]


def test_a_note_comes_after_the_mark():
    (message,) = sent(request("hi", note='Say "done".'))["messages"]
    assert message["content"] == [
        {"type": "text", "text": "hi", "cache_control": MARK},
        {"type": "text", "text": '[Say "done".]'},
    ]


def test_a_history_that_ends_with_the_model_bears_no_mark():
    body = sent(request("hi", Message("model", (Text("Hm"), Thinking("", "seal"))), note="Go on."))
    assert "cache_control" not in json.dumps(body["messages"])
    assert body["messages"][-1] == {"role": "user", "content": [{"type": "text", "text": "[Go on.]"}]}
    assert sent(request("hi", Message("model", (Text("Hm"),))))["messages"][-1]["role"] == "assistant"


def test_the_last_tool_bears_a_mark():
    first, last = sent(request(tools=(ADD, ADD)))["tools"]
    assert "cache_control" not in first
    assert last == {"name": "add", "description": "Add two numbers.", "input_schema": ADD.parameters, "cache_control": MARK}


def test_options_as_this_wire_has_them():
    options = Options(temperature=0.5, max_tokens=100, top_p=0.9, seed=7, stop=("END",), extra={"top_k": 5})
    body = sent(request(options=options))
    del body["messages"], body["system"]
    assert body == {
        "model": "wired",
        "max_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "top_k": 5,
        "stream": True,
    }


def test_a_limit_is_always_sent():
    assert sent(request())["max_tokens"] == 8192  # of a model that nothing is known of
    assert sent(request(), name="claude-opus-5-5")["max_tokens"] == 128_000
    assert sent(request(), name="claude-sonnet-4-5")["max_tokens"] == 64_000
    assert sent(request(options=Options(max_tokens=7)), name="claude-opus-5-5")["max_tokens"] == 7


def test_headers_of_this_wire():
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "anthropic", headers={"anthropic-beta": "x"}))
    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"], headers["anthropic-beta"]) == ("test-key", "2023-06-01", "x")


def test_the_public_endpoint_needs_a_key(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY"):
        from_name("claude")
    assert Anthropic("claude", api_key="k").traits == Traits(
        context=200_000, reasons=True, modalities=frozenset(("image", "document")), structured_output="yes"
    )


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_key_and_the_address_come_from_the_environment(monkeypatch, path):
    with WireServer(["fine"]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "from-environment")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url + path)
        model = from_name("claude")
        ask(model)
    assert model.name == "anthropic:claude"
    expected = Traits(context=200_000, reasons=True, modalities=frozenset(("image", "document")), structured_output="yes")
    assert model.traits == expected
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].headers["x-api-key"] == "from-environment"


def test_a_server_of_ones_own_needs_no_key(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with WireServer(["fine"]) as server:
        ask(Anthropic("local", base_url=server.url))
    assert "x-api-key" not in server.requests[0].headers


# What comes back


@pytest.mark.parametrize("stream", [True, False])
def test_thinking_comes_with_its_seal(stream):
    with WireServer([(think("Let me see.", signature="seal", size=100), say("Four."))]) as server:
        deltas = ask(wire.model(server, "anthropic", stream=stream))
    assert deltas[:3] == [ThinkingDelta("Let me see."), ThinkingDelta("", "seal"), TextDelta("Four.")]


def test_a_seal_may_come_in_pieces_or_at_the_start():
    pieces = [{"type": "signature_delta", "signature": "se"}, {"type": "signature_delta", "signature": "al"}]
    assert heard(*block(0, {"type": "thinking", "thinking": "Hm"}, *pieces), *over())[:2] == [
        ThinkingDelta("Hm"),
        ThinkingDelta("", "seal"),
    ]
    assert heard(*block(0, {"type": "thinking", "thinking": "Hm", "signature": "seal"}), *over())[:2] == [
        ThinkingDelta("Hm"),
        ThinkingDelta("", "seal"),
    ]


def test_hidden_thinking_is_kept_to_be_sent_back():
    redacted = {"type": "redacted_thinking", "data": "abc"}
    assert heard(*block(0, redacted), *over())[0] == ThinkingDelta("", "redacted:abc")
    body = {"content": [redacted], "stop_reason": "end_turn"}
    with WireServer([raw(json.dumps(body).encode(), content_type="application/json")]) as server:
        assert ask(wire.model(server, "anthropic", stream=False))[0] == ThinkingDelta("", "redacted:abc")


def test_the_last_call_of_a_whole_reply_that_was_cut_is_not_believed():
    blocks = [{"type": "tool_use", "id": f"c{n}", "name": "add", "input": {"a": n}} for n in (1, 2)]
    body = {"content": blocks, "stop_reason": "max_tokens"}
    with WireServer([raw(json.dumps(body).encode(), content_type="application/json")]) as server:
        first, last = calls_in(ask(wire.model(server, "anthropic", stream=False)))
    assert (first.cut, last.cut) == (False, True)


def test_arguments_may_come_with_the_start_of_a_block():
    started = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
    assert calls_in(heard(*block(0, started), *over("tool_use"))) == [Written("c1", "add", '{"a":1}')]


def test_an_unreadable_call_is_done_when_another_block_begins():
    bad = block(0, {"type": "tool_use", "id": "c1", "name": "add"}, {"type": "input_json_delta", "partial_json": "{a:"})
    deltas = heard(*bad, *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "so"}), *over("max_tokens"))
    assert calls_in(deltas) == [Written("c1", "add", "{a:")]
    assert deltas.index(TextDelta("so")) > 1


def test_stop_reasons():
    for reason, finish in (
        ("end_turn", "done"),
        ("stop_sequence", "done"),
        ("pause_turn", "paused"),
        ("something_newer", "done"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "window"),
        ("refusal", "filtered"),
    ):
        assert heard(*block(0, {"type": "text", "text": "hi"}), *over(reason))[-1].finish == finish


def test_events_and_blocks_that_are_not_known_are_left_alone():
    deltas = heard(
        {"type": "vertex_event"},
        {"type": "message_start"},
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_delta", "index": 0},
        *block(
            0,
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": "{}"},
        ),
        *block(1, {"type": "text", "text": "hi"}, {"type": "citations_delta", "citation": {}}),
        *over(),
    )
    own = Opaque("anthropic", '{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}')
    assert deltas == [own, TextDelta("hi"), ReplyEnded("done", Usage(requests=1), "anthropic:wired")]


def test_blocks_of_the_servers_own_tools_go_back_as_they_came():
    own = '{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather in Ulm"}}'
    result = '{"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": "Ab+/=="}]}'
    whole = json.dumps({"content": [json.loads(own), json.loads(result)], "stop_reason": "pause_turn", "usage": {}}).encode()
    with WireServer([raw(whole, content_type="application/json")]) as server:
        deltas = ask(wire.model(server, "anthropic", stream=False))
    assert [delta.json for delta in deltas[:2]] == [own, result]
    assert deltas[-1].finish == "paused"
    streamed = heard(
        *block(
            0,
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"query": "weather'},
            {"type": "input_json_delta", "partial_json": ' in Ulm"}'},
        ),
        *block(1, json.loads(result)),
        *over("pause_turn"),
    )
    assert [json.loads(delta.json) for delta in streamed[:2]] == [json.loads(own), json.loads(result)]
    back = sent(request(person_message("Weather?"), Message("model", (Text("Looking."), *streamed[:2], Opaque("responses", "{}")))))
    assert back["messages"][-1]["content"] == [{"type": "text", "text": "Looking."}, json.loads(own), json.loads(result)]


def test_choices_of_tools_are_one_field_on_this_wire():
    options = Options(temperature=0.5, top_p=0.9, tool_choice="required", parallel_calls=False, headers={"X-Team": "ops"})
    body = sent(request(tools=(ADD,), options=options), name="claude-sonnet-4-5")
    assert (body["temperature"], body["top_p"]) == (0.5, 0.9)
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert sent(request(tools=(ADD,), options=Options(tool_choice="add")))["tool_choice"] == {"type": "tool", "name": "add"}
    assert sent(request(tools=(ADD,), options=Options(tool_choice="none", parallel_calls=True)))["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in sent(request(options=options))


def test_what_a_model_is_known_to_refuse_is_not_sent():
    body = sent(request(options=Options(temperature=0.0, top_p=0.5)), name="claude-opus-4-7")
    assert not {"temperature", "top_p"} & set(body)


def test_thinking_takes_its_part_of_the_limit():
    body = sent(request(options=Options(reasoning="high", temperature=0.5)), name="claude-sonnet-4-5")
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 32_768}
    assert "temperature" not in body
    small = sent(request(options=Options(reasoning_budget=9_000, max_tokens=4_096)), name="claude-sonnet-4-5")
    assert small["thinking"]["budget_tokens"] == 3_072
    assert "thinking" not in sent(request(options=Options(reasoning="high")), name="claude-3-5-haiku-latest")
    assert "thinking" not in sent(request(options=Options(reasoning="none")), name="claude-sonnet-4-5")


def test_all_input_is_counted_cached_or_not():
    start = {
        "type": "message_start",
        "message": {
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}
        },
    }
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    assert heard(start, end, {"type": "message_stop"})[-1].usage == Usage(
        requests=1, input_tokens=125, output_tokens=9, cache_read_tokens=100, cache_write_tokens=20
    )


def test_the_end_of_another_wire_is_an_end_too():
    text = json.dumps({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hi"}})
    with WireServer([raw(f"data: {text}\n\ndata: [DONE]\n\n".encode())]) as server:
        deltas = ask(wire.model(server, "anthropic"))
    assert text_in(deltas) == "hi"
    assert deltas[-1].finish == "done"
