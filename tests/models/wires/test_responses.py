"""The Responses wire: items in and out, what comes back unchanged, and what the types of OpenAI's own client say about both."""

import asyncio
import json
import threading
from functools import cache
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError

import wire
from local import smollm
from packages import Deferred
from treadle import Agent, tool
from treadle.core.calls import Call, Media, Opaque, Result, Written
from treadle.core.errors import ContextTooLong, ModelRefused, ModelUnavailable, ReplyBroken
from treadle.core.messages import History, Message, Text, Thinking, person_message
from treadle.core.requests import (
    CallDelta,
    CallDone,
    Options,
    ReplyEnded,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
    Traits,
    Usage,
)
from treadle.models.llamacpp.child import LlamaSettings, close_children, start_child
from treadle.models.wires.responses import MODALITIES, Responses, encode_response_items
from wire import (
    ADD,
    WireServer,
    ask,
    call,
    calls_in,
    collect,
    events,
    gate,
    hear,
    raw,
    refuse,
    reply,
    request,
    said,
    say,
    text_in,
    think,
    thinking_in,
)
from wire.script import Used

openai = Deferred("openai")
openai_types = Deferred("openai.types.responses")
openai_params = Deferred("openai.types.responses.response_create_params")

both = pytest.mark.parametrize("stream", [True, False])

REASONING = '{"id":"rs_1", "type":"reasoning","summary":[],"encrypted_content":"gAAA\\u00e9=="}'
SEARCH = '{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}'


def sent(asked, **settings):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "responses", **settings), asked)
    return server.requests[0].body


def items(*messages, **settings):
    return sent(request("hi", *messages), **settings)["input"][1:]


def heard(*payloads, done=False):
    with WireServer([events(*payloads, done=done)]) as server:
        return ask(wire.model(server, "responses"))


def failed(*payloads):
    with WireServer([events(*payloads, done=False)]) as server:
        return hear(wire.model(server, "responses"))


def whole(body):
    with WireServer([raw(json.dumps(body).encode(), content_type="application/json")]) as server:
        return hear(wire.model(server, "responses", stream=False))


def added(index, **item):
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def ended(index, **item):
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def text(index, delta):
    return {"type": "response.output_text.delta", "output_index": index, "item_id": f"msg_{index}", "delta": delta}


def over(status="completed", **response):
    return {"type": f"response.{status}", "response": {"status": status, "output": [], **response}}


def opaque(json_text):
    return Opaque("responses", json_text)


# What is sent


ROUND = (
    person_message("Add 1 and 2."),
    Message(
        "model",
        (
            Thinking("Easy."),
            opaque(REASONING),
            Text("I'll "),
            Text("add."),
            Call("c1", "add", {"a": 1, "b": "é"}),
            Call("c2", "now", {}),
        ),
    ),
    Message("tools", (Result("c1", "add", "3"), Result("c2", "now", "no clock", problem="raised"))),
)


def test_messages_as_this_wire_has_them():
    body = sent(request(*ROUND))
    assert body["instructions"] == "Be brief."
    assert body["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Add 1 and 2."}]},
        json.loads(REASONING),
        {"type": "message", "role": "assistant", "content": "I'll add."},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1,"b":"é"}'},
        {"type": "function_call", "call_id": "c2", "name": "now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"type": "function_call_output", "call_id": "c2", "output": "no clock"},
    ]


def test_nothing_is_stored_and_reasoning_comes_encrypted():
    body = sent(request())
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])


def test_opaque_items_go_out_byte_for_byte():
    assert REASONING.encode() in encode_response_items(ROUND[1])


def test_what_is_opaque_on_another_wire_is_left_out():
    foreign = Opaque("anthropic", '{"type":"redacted_thinking","data":"x"}')
    assert items(Message("model", (foreign, Thinking("", "seal"), Text("Hello.")))) == [
        {"type": "message", "role": "assistant", "content": "Hello."}
    ]
    assert items(Message("model", (foreign,))) == []


def test_reasoning_that_nothing_follows_is_left_out():
    kept = {"type": "message", "role": "assistant", "content": "Well,"}
    assert items(Message("model", (Text("Well,"), opaque(REASONING), opaque(REASONING), Thinking("hm"), Text("")))) == [kept]
    assert items(Message("model", (opaque(REASONING),)), "still there?")[0]["role"] == "user"


@pytest.mark.parametrize("following", [Text("So."), Call("c1", "add", {}), opaque(SEARCH)])
def test_reasoning_stays_before_what_follows_it(following):
    kinds = [item["type"] for item in items(Message("model", (opaque(REASONING), opaque(REASONING), following)))]
    assert kinds[:2] == ["reasoning", "reasoning"]
    assert len(kinds) == 3


def test_a_model_that_does_not_reason_gets_no_reasoning_items():
    message = Message("model", (opaque(REASONING), opaque(SEARCH), Text("Found.")))
    assert [item["type"] for item in items(message, reasons=False)] == ["web_search_call", "message"]
    asked = request("hi", message)  # both encodings of one history are kept apart
    with WireServer(["a", "b", "c"]) as server:
        for reasons in (True, False, True):
            ask(wire.model(server, "responses", reasons=reasons), asked)
    assert [len(received.body["input"]) for received in server.requests] == [4, 3, 4]


AWKWARD = ["fn.now:0", "fn_now_0", "fn:now.0", "x" * 64, "x" * 65, "x" * 66, "ä", "", "toolu_01-A"]


def test_ids_that_this_wire_refuses_are_replaced_and_still_match():
    calls = Message("model", tuple(Call(one, "now", {}) for one in AWKWARD))
    results = Message("tools", tuple(Result(one, "now", "noon") for one in AWKWARD))
    found = items(calls, results)
    asked, answered = ([item["call_id"] for item in half] for half in (found[: len(AWKWARD)], found[len(AWKWARD) :]))
    assert asked == answered
    assert len(set(asked)) == len(AWKWARD)
    assert all(0 < len(one) <= 64 and one.isascii() and one.replace("_", "").replace("-", "").isalnum() for one in asked)
    assert [one for one in asked if one in AWKWARD] == ["fn_now_0", "x" * 64, "toolu_01-A"]


@pytest.mark.parametrize(
    ("name", "plain"), [("functions.add", "functions_add"), ("", "unknown"), ("x" * 70, "x" * 64), ("a-b_C", "a-b_C")]
)
def test_names_that_this_wire_refuses_are_made_plain(name, plain):
    assert items(Message("model", (Call("c1", name, {}),)))[0]["name"] == plain


def test_words_keep_their_phase():
    commentary, answer = '{"type":"message","phase":"commentary"}', '{"type":"message","phase":"final_answer"}'
    parts = Text("Looking."), opaque(commentary), Text("Four."), opaque(answer), opaque(answer), Text("More.")
    assert items(Message("model", parts)) == [
        {"type": "message", "role": "assistant", "content": "Looking.", "phase": "commentary"},
        {"type": "message", "role": "assistant", "content": "Four.", "phase": "final_answer"},
        {"type": "message", "role": "assistant", "content": "More."},
    ]


def test_a_picture_is_named():
    picture = Media("image/png", "0" * 64, 10, "cat.png")
    asked = request(Message("person", (Text("What is it?"), picture)), Message("model", (Text("See "), picture)))
    first, second = sent(asked)["input"]
    assert [part["text"] for part in first["content"]] == ["What is it?", "[image cat.png]"]
    assert second["content"] == "See [image cat.png]"


def test_a_person_who_says_nothing_has_said_something():
    assert sent(request(Message("person", ()), note="Go on."))["input"] == [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": ""}, {"type": "input_text", "text": "[Go on.]"}],
        }
    ]


def test_a_note_joins_a_persons_words():
    (message,) = sent(request("hi", note='Say "done".'))["input"]
    assert [part["text"] for part in message["content"]] == ["hi", '[Say "done".]']


def test_a_note_after_anything_else_is_a_message_of_the_user():
    note = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "[Go on.]"}]}
    assert sent(request(*ROUND, note="Go on."))["input"][-1] == note
    assert sent(Request("", History(), note="Go on."))["input"] == [note]


def test_tools_as_this_wire_has_them():
    bare = ToolSpec("now", "The time.", {"type": "object"})
    add, now = sent(request(tools=(ADD, bare)))["tools"]
    assert add == {
        "type": "function",
        "name": "add",
        "description": "Add two numbers.",
        "parameters": ADD.parameters,
        "strict": False,
    }
    assert now["parameters"] == {"type": "object", "properties": {}}


def settings_in(body):
    return {name: value for name, value in body.items() if name not in ("input", "instructions", "tools", "store", "stream")}


OPTIONS = Options(
    temperature=0.5,
    max_tokens=100,
    top_p=0.9,
    seed=7,
    stop=("END",),
    reasoning="low",
    parallel_calls=False,
    service_tier="flex",
    cache_key="run-1",
    tool_choice="required",
)


def test_options_of_a_model_that_reasons():
    assert settings_in(sent(request(options=OPTIONS, tools=(ADD,)))) == {
        "model": "wired",
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
        "max_output_tokens": 100,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "service_tier": "flex",
        "prompt_cache_key": "run-1",
    }


def test_options_of_a_model_that_does_not_reason():
    body = settings_in(sent(request(options=OPTIONS, tools=(ADD,)), reasons=False))
    assert (body["temperature"], body["top_p"]) == (0.5, 0.9)
    assert not {"reasoning", "include", "stop", "seed"} & set(body)


def test_nothing_is_said_of_calls_where_there_are_no_tools():
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(sent(request(options=OPTIONS)))


@pytest.mark.parametrize(
    ("choice", "told"),
    [("auto", "auto"), ("none", "none"), ("add", {"type": "function", "name": "add"}), ("gone", None), (None, None)],
)
def test_which_tool_is_to_be_called(choice, told):
    assert sent(request(options=Options(tool_choice=choice), tools=(ADD,))).get("tool_choice") == told


@pytest.mark.parametrize(("wanted", "most", "told"), [(5, None, 16), (500, 100, 100), (50, 100, 50), (None, 100, None)])
def test_the_limit_of_the_output_is_one_that_is_taken(wanted, most, told):
    assert sent(request(options=Options(max_tokens=wanted)), max_output=most).get("max_output_tokens") == told


def test_extra_fields_join_objects_and_lists_and_replace_the_rest():
    extra = {
        "tools": [{"type": "web_search"}],
        "reasoning": {"summary": "auto"},
        "text": {"verbosity": "low"},
        "include": ["web_search_call.action.sources", "reasoning.encrypted_content"],
        "service_tier": None,
        "truncation": "auto",
        "stream": "no",
    }
    options = Options(reasoning="high", service_tier="flex", extra=extra)
    body = sent(request(options=options, tools=(ADD,), shape={"type": "object"}))
    assert [one["type"] for one in body["tools"]] == ["function", "web_search"]
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["text"] == {
        "format": {"type": "json_schema", "name": "reply", "schema": {"type": "object"}, "strict": False},
        "verbosity": "low",
    }
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert "service_tier" not in body
    assert (body["truncation"], body["stream"], len(body["input"])) == ("auto", True, 1)


def test_a_reply_is_held_to_a_shape_strictly_where_that_can_be():
    shape = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    assert sent(request(shape=shape))["text"]["format"] == {
        "type": "json_schema",
        "name": "reply",
        "schema": {**shape, "additionalProperties": False},
        "strict": True,
    }
    loose = {"type": "object", "properties": {"answer": {"type": "string"}}}
    assert sent(request(shape=loose))["text"]["format"]["strict"] is False
    assert sent(request(shape=loose))["text"]["format"]["schema"] == loose


def test_headers_of_the_model_and_of_one_request():
    with WireServer(["fine", "fine"]) as server:
        model = wire.model(server, "responses", headers={"x-project": "p"})
        ask(model, request(options=Options(headers={"X-Trace": "t"})))
        ask(model)
    first, second = (received.headers for received in server.requests)
    assert (first["authorization"], first["x-project"], first["x-trace"]) == ("Bearer test-key", "p", "t")
    assert "x-trace" not in second
    assert server.requests[0].path == "/v1/responses"


def test_a_server_without_a_key_gets_none():
    with WireServer(["fine"]) as server:
        model = Responses("m", base_url=f"{server.url}/", kind="own", traits=Traits(context=9), stream=False)
        ask(model)
    assert "authorization" not in server.requests[0].headers
    assert (model.name, model.traits) == ("own:m", Traits(context=9, streams=False, modalities=MODALITIES))


def test_a_key_that_is_refused_is_named():
    with WireServer([refuse(401, "no")]) as server:
        _, error = hear(wire.model(server, "responses", key_variable="MY_KEY"))
    assert "check MY_KEY" in str(error)


def test_no_instructions_and_no_tools_leave_no_trace():
    body = sent(Request("", request("hi").history))
    assert not {"instructions", "tools", "text"} & set(body)


def test_the_same_history_gives_the_same_bytes_and_is_encoded_once():
    assert encode_response_items(ROUND[1]) == encode_response_items(Message("model", tuple(ROUND[1].parts)))
    with WireServer(lambda _: "fine") as server:

        async def rounds():
            model = wire.model(server, "responses")
            history = request(*ROUND).history
            for _ in range(3):
                await collect(model, Request("Be brief.", history, (ADD,)))
                history = history.plus(said("fine"), person_message("And now?"))

        asyncio.run(rounds())
    bodies = [received.body for received in server.requests]
    assert [len(body["input"]) for body in bodies] == [7, 9, 11]
    assert bodies[2]["input"][:9] == bodies[1]["input"]
    assert {json.dumps({**body, "input": None}) for body in bodies} == {json.dumps({**bodies[0], "input": None})}


def test_other_tools_and_options_are_told_when_they_change():
    with WireServer(lambda _: "fine") as server:

        async def change():
            model = wire.model(server, "responses")
            for limit in (100, 200):
                await collect(model, request(tools=(ADD,) if limit == 100 else (), options=Options(max_tokens=limit)))

        asyncio.run(change())
    first, second = (received.body for received in server.requests)
    assert ("tools" in first, "tools" in second) == (True, False)
    assert (first["max_output_tokens"], second["max_output_tokens"]) == (100, 200)


# What the types of OpenAI's client say of it


@cache
def params(stream):
    """The type of a request's body."""
    kind = openai_params.ResponseCreateParamsStreaming if stream else openai_params.ResponseCreateParamsNonStreaming
    return TypeAdapter(list[kind], config=ConfigDict(extra="forbid", strict=True))


def checked(body, stream=True):
    """The body as the types of the client have it: no field that they don't know, none missing, all of the right type."""
    return _plain(params(stream).validate_python([body])[0])


def _plain(value):
    """The same with every list read to its end: pydantic checks an Iterable only as it is read."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value if value is None or isinstance(value, str | int | float) else [_plain(one) for one in value]


FULL = '{"id":"rs_9","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"content":[],"encrypted_content":"x"}'
HISTORIES = {
    "plain": ("hi",),
    "words": ("hi", said("Hello."), "and now?"),
    "a round": ROUND,
    "parallel": (
        "hi",
        Message("model", (opaque(FULL), Call("c1", "add", {"a": 1}), Call("c2", "add", {"a": 2}))),
        Message("tools", (Result("c2", "add", "2"), Result("c1", "add", "1"))),
    ),
    "three rounds": (
        *ROUND,
        Message("model", (opaque(REASONING), Call("c3", "add", {"a": 3}))),
        Message("tools", (Result("c3", "add", "3"),)),
        Message("model", (opaque(FULL), Text("So far."), opaque('{"type":"message","phase":"commentary"}'), Call("c4", "now", {}))),
        Message("tools", (Result("c4", "now", "noon"),)),
        Message("model", (opaque(REASONING), Text("Done."))),
        "Thanks.",
    ),
    "other wires": (
        "hi",
        Message("model", (Opaque("google", "{}"), Thinking("hm", "seal"), Call("x.y", "a.b", {}, Opaque("google", '"s"')))),
        Message("tools", (Result("x.y", "a.b", "1"),)),
    ),
    "awkward ids": (
        "hi",
        Message("model", tuple(Call(one, "now", {}) for one in AWKWARD)),
        Message("tools", tuple(Result(one, "now", "noon") for one in AWKWARD)),
    ),
    "tools of the server": ("hi", Message("model", (opaque(SEARCH), Text("Found."))), "thanks"),
    "a cut reply": ("hi", Message("model", (Text("Well"), opaque(REASONING))), "go on"),
    "a picture": (Message("person", (Text("What?"), Media("image/png", "0" * 64, 1))),),
}


@both
@pytest.mark.parametrize("reasons", [True, False])
@pytest.mark.parametrize("name", HISTORIES)
def test_bodies_are_what_the_client_of_openai_would_send(name, reasons, stream):
    shape = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for fields in (
        {},
        {"tools": (ADD,), "options": OPTIONS, "note": "Go on."},
        {"shape": shape, "options": Options(tool_choice="add", extra={"tools": [{"type": "web_search"}]}), "tools": (ADD,)},
    ):
        body = sent(request(*HISTORIES[name], **fields), reasons=reasons, stream=stream)
        assert checked(body, stream) == body


def test_the_check_of_bodies_finds_what_is_wrong():
    body = sent(request(*ROUND, tools=(ADD,)))
    for wrong in (
        {**body, "messages": []},
        {**body, "input": [{"type": "function_call", "name": "add", "arguments": "{}"}]},
        {**body, "input": [{**json.loads(REASONING), "content": None}]},
        {**body, "tools": [{**body["tools"][0], "parameters": "{}"}]},
    ):
        with pytest.raises(ValidationError):
            checked(wrong)


def test_calls_and_their_outputs_match_in_every_history():
    for history in HISTORIES.values():
        found = sent(request(*history))["input"]
        asked = [item["call_id"] for item in found if item["type"] == "function_call"]
        assert sorted(asked) == sorted(item["call_id"] for item in found if item["type"] == "function_call_output")
        assert found[-1]["type"] != "reasoning"


# The server of these tests speaks as the real one does

FAITHFUL = [
    reply(think("Let me see."), say("I'll add."), call("add", {"a": 1}, id="call_1"), call("now", id="call_2")),
    reply("Once upon a", finish="length"),
    reply("I can't", finish="filtered"),
    reply(call("add", '{"a"'), finish="length"),
    reply("hi", used=Used(read=10, wrote=3, cached=5)),
    reply(),
]


@pytest.mark.parametrize("scripted", FAITHFUL)
def test_the_events_of_the_server_of_these_tests_are_those_of_openai(scripted):
    with WireServer([scripted]) as server:
        ask(wire.model(server, "responses"))
    payloads = [line[6:] for sent in server.sent for line in sent.data.split(b"\n") if line.startswith(b"data: ")]
    known = TypeAdapter(openai_types.ResponseStreamEvent)
    found = [known.validate_json(payload) for payload in payloads]
    assert [event.sequence_number for event in found] == list(range(len(found)))
    assert [event.type for event in found] == [json.loads(payload)["type"] for payload in payloads]


@pytest.mark.parametrize("scripted", FAITHFUL)
def test_the_client_of_openai_hears_what_we_hear(scripted):
    with WireServer([scripted] * 2) as server:
        ours = [ask(wire.model(server, "responses", stream=stream)) for stream in (True, False)]
    with WireServer([scripted] * 2) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
        with client.responses.stream(model="wired", input="hi") as stream:
            streamed = stream.get_final_response() if scripted.finish is None else [*stream][-1].response
        theirs = [streamed, client.responses.create(model="wired", input="hi")]
    for deltas, response in zip(ours, theirs, strict=True):
        assert text_in(deltas) == response.output_text
        assert [(one.id, one.name, one.text) for one in calls_in(deltas)] == [
            (item.call_id, item.name, item.arguments) for item in response.output if item.type == "function_call"
        ]
        assert [json.loads(delta.json) for delta in deltas if isinstance(delta, Opaque)] == [
            item.model_dump(exclude_unset=True) for item in response.output if item.type == "reasoning"
        ]
        assert deltas[-1].usage.input_tokens == response.usage.input_tokens


# What comes back


@both
def test_words_thinking_and_calls_arrive_in_order(stream):
    parts = think("Let me see."), say("I'll add.", size=4), call("add", {"a": 1, "b": "}"}), call("now")
    with WireServer([reply(*parts)]) as server:
        deltas = ask(wire.model(server, "responses", stream=stream))
    assert (thinking_in(deltas), text_in(deltas)) == ("Let me see.", "I'll add.")
    assert [(one.name, one.text.replace(" ", ""), one.cut) for one in calls_in(deltas)] == [
        ("add", '{"a":1,"b":"}"}', False),
        ("now", "{}", False),
    ]
    kinds = list(dict.fromkeys(type(delta) for delta in deltas))
    assert kinds == [ThinkingDelta, Opaque, TextDelta, CallDelta, CallDone, ReplyEnded]
    for one in calls_in(deltas):
        assert deltas.index(CallDelta(one.id, one.name)) < deltas.index(CallDone(one))
    assert deltas[-1] == ReplyEnded(
        "calls", Usage(requests=1, input_tokens=100, output_tokens=20), "openai:wired", response_model="wired-0613"
    )


def test_three_rounds_of_a_run_send_every_reasoning_item_back_where_it_was():
    @tool(effect="read")
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    script = [
        reply(think("First.", signature="s1"), call("add", {"a": 1, "b": 2}, id="c1"), call("add", {"a": 5, "b": 6}, id="c2")),
        reply(think("Then.", signature="s2"), say("One more."), call("add", {"a": 3, "b": 3}, id="c3")),
        reply(think("Done.", signature="s3"), say("Six.")),
        reply("You're welcome."),
    ]
    with WireServer(script) as server:

        async def converse():
            agent = Agent(wire.model(server, "responses"), tools=[add])
            first = await agent.run("Add 1 and 2, then 3.")
            return await agent.run("Thanks.", history=first.history)

        asyncio.run(converse())
    shapes = [[item.get("encrypted_content", item["type"]) for item in received.body["input"]] for received in server.requests]
    first = ["message", "s1", "function_call", "function_call", "function_call_output", "function_call_output"]
    second = [*first, "s2", "message", "function_call", "function_call_output"]
    assert shapes == [first[:1], first, second, [*second, "s3", "message", "message"]]
    assert all(checked(received.body) == received.body for received in server.requests)


def reasoning(**fields):
    return {"id": "rs_1", "type": "reasoning", "summary": [], **fields}


def kept(*item_fields, **fields):
    return [delta.json for delta in heard(ended(0, **dict(*item_fields), **fields), over()) if isinstance(delta, Opaque)]


def test_a_reasoning_item_is_kept_as_it_came():
    event = b'data: {"type":"response.output_item.done","output_index":0,"item": %b}\n\n' % REASONING.encode()
    end = b"data: %b\n\n" % json.dumps(over()).encode()
    with WireServer([raw(event, end)]) as server:
        deltas = ask(wire.model(server, "responses"))
    assert deltas[0] == opaque(REASONING)


def test_what_the_api_takes_in_no_input_is_dropped_and_nothing_else():
    (item,) = kept(reasoning(encrypted_content="x", content=None, status="completed"))
    assert json.loads(item) == reasoning(encrypted_content="x")
    (item,) = kept(reasoning(encrypted_content="x", content=[], status=None, newer={"a": [1.50, None]}))
    assert json.loads(item) == reasoning(encrypted_content="x", content=[], newer={"a": [1.5, None]})


def test_reasoning_that_the_server_could_not_read_again_is_not_kept():
    assert kept(reasoning()) == []
    assert kept(reasoning(encrypted_content=None, content=None)) == []
    shown = [{"type": "reasoning_text", "text": "Hm"}]
    assert len(kept(reasoning(content=shown))) == 1


def test_reasoning_as_it_was_announced_is_not_used():
    first = added(0, **reasoning(encrypted_content="half"))
    deltas = heard(first, ended(0, **reasoning(encrypted_content="half and the rest")), over())
    assert [json.loads(delta.json)["encrypted_content"] for delta in deltas if isinstance(delta, Opaque)] == ["half and the rest"]


@pytest.mark.parametrize(
    "item",
    [
        json.loads(SEARCH),
        {"type": "file_search_call", "id": "fs_1", "queries": ["x"], "status": "completed", "results": None},
        {"type": "code_interpreter_call", "id": "ci_1", "code": None, "container_id": "c", "outputs": None, "status": "completed"},
        {"type": "image_generation_call", "id": "ig_1", "result": "aGk=", "status": "completed"},
        {"type": "mcp_call", "id": "mcp_1", "name": "x", "arguments": "{}", "server_label": "s", "output": "1", "error": None},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
        {"type": "custom_tool_call", "call_id": "c", "name": "x", "input": "y"},
        {"type": "tool_search_call", "arguments": {"query": "x"}, "call_id": None, "execution": "server", "status": "completed"},
    ],
)
def test_items_of_other_kinds_go_back_unchanged(item):
    (text,) = kept(item)
    assert json.loads(text) == item
    body = sent(request("hi", Message("model", (opaque(text), Text("so"))), "on"))
    assert body["input"][1] == item
    assert checked(body) == body


def _known_fields(annotation):
    """The fields of each kind of item, by the types of the client."""
    fields = {}
    for kind in get_args(annotation):
        if hasattr(kind, "model_fields"):
            hints = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
        else:
            hints = get_type_hints(kind, include_extras=True)
        for name in _literals(hints["type"]):
            fields.setdefault(name, set()).update(hints)
    return fields


def _literals(annotation):
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [name for inner in get_args(annotation) for name in _literals(inner)]


def test_no_item_that_openai_sends_goes_back_with_a_field_that_it_does_not_take():
    outputs = _known_fields(get_args(openai_types.response_output_item.ResponseOutputItem)[0])
    inputs = _known_fields(openai_types.response_input_item_param.ResponseInputItemParam)
    opaque_kinds = set(outputs) - {"message", "function_call"}
    assert len(opaque_kinds) > 20
    for kind in opaque_kinds:
        (text,) = kept({**dict.fromkeys(outputs[kind], "x"), "type": kind})
        assert set(json.loads(text)) <= inputs[kind], kind


def test_the_phase_of_words_comes_after_them():
    message = {"type": "message", "id": "msg_0", "role": "assistant", "phase": "commentary"}
    words = {**message, "content": [{"type": "output_text", "text": "Looking."}]}
    deltas = heard(added(0, **message, content=[]), text(0, "Looking."), ended(0, **words), text(1, "Four."), over())
    assert deltas[:3] == [TextDelta("Looking."), opaque('{"type":"message","phase":"commentary"}'), TextDelta("Four.")]
    assert whole({"status": "completed", "output": [words]})[0][:2] == deltas[:2]


def test_parts_of_a_summary_are_kept_apart():
    def summary(index, part, delta):
        return {"type": "response.reasoning_summary_text.delta", "output_index": index, "summary_index": part, "delta": delta}

    deltas = heard(summary(0, 0, "A"), summary(0, 0, "b"), summary(0, 1, "C"), summary(2, 0, "D"), over())
    assert thinking_in(deltas) == "Ab\n\nCD"
    parts = [{"type": "summary_text", "text": "Ab"}, {"type": "summary_text", "text": "C"}]
    assert thinking_in(heard(ended(0, **reasoning(summary=parts)), over())) == "Ab\n\nC"


def test_reasoning_that_is_shown_is_thinking():
    delta = {"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "Hm."}
    item = ended(0, **reasoning(content=[{"type": "reasoning_text", "text": "Hm."}]))
    assert thinking_in(heard(delta, item, over())) == "Hm."
    assert thinking_in(heard(item, over())) == "Hm."


def test_a_refusal_is_what_the_model_says():
    delta = {"type": "response.refusal.delta", "output_index": 0, "delta": "I can't."}
    item = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I can't."}]}
    assert text_in(heard(delta, ended(0, **item), over())) == "I can't."
    assert text_in(whole({"status": "completed", "output": [item]})[0]) == "I can't."


# Servers that do it otherwise


def function(call_id="c1", arguments='{"x":1}', **fields):
    return {"type": "function_call", "call_id": call_id, "name": "add", "arguments": arguments, **fields}


def piece(delta, **of):
    return {"type": "response.function_call_arguments.delta", "delta": delta, **of}


def written(deltas):
    return [(one.id, one.name, one.text, one.cut) for one in calls_in(deltas)]


def unnumbered(event):
    return {name: value for name, value in event.items() if name != "output_index"}


def test_items_need_no_index():
    deltas = heard(
        unnumbered(added(0, type="message", id="msg_0", content=[])),
        {"type": "response.output_text.delta", "item_id": "msg_0", "delta": "So."},
        unnumbered(ended(0, type="message", id="msg_0", content=[{"type": "output_text", "text": "So."}])),
        unnumbered(added(0, **function("c1", ""))),
        unnumbered(added(0, **function("c2", ""))),
        piece('{"x":2}', item_id="c2"),
        piece('{"x":1}', item_id="c1"),
        unnumbered(ended(0, **function("c1", ""))),
        unnumbered(ended(0, **function("c2", ""))),
        over(output=[{"type": "message", "id": "msg_0", "content": [{"text": "So."}]}, function("c1"), function("c2")]),
    )
    assert text_in(deltas) == "So."
    assert written(deltas) == [("c1", "add", '{"x":1}', False), ("c2", "add", '{"x":2}', False)]


def test_items_need_neither_index_nor_id():
    words = {"type": "message", "content": [{"text": "So."}]}
    search = {"type": "web_search_call"}
    deltas = heard(
        {"type": "response.output_text.delta", "delta": "So."},
        unnumbered(ended(0, **words)),
        unnumbered(ended(1, **search)),
        unnumbered(ended(2, **function())),
        over(output=[words, search, function()]),
    )
    assert [type(delta) for delta in deltas] == [TextDelta, Opaque, CallDelta, CallDone, ReplyEnded]


def test_ids_of_items_may_change_from_event_to_event():
    words = [{"type": "output_text", "text": "So."}]
    deltas = heard(
        added(0, type="message", id="a", content=[]),
        {**text(0, "So."), "item_id": "b"},
        ended(0, type="message", id="c", content=words),
        added(1, **function(id="d", arguments="")),
        piece('{"x"', output_index=1, item_id="e"),
        piece(":1}", output_index=1, item_id="f"),
        ended(1, **function(id="g")),
        over(output=[{"type": "message", "id": "h", "content": words}, function(id="i")]),
    )
    assert text_in(deltas) == "So."
    assert written(deltas) == [("c1", "add", '{"x":1}', False)]


def test_a_server_may_send_the_whole_response_at_the_end_only():
    output = [reasoning(encrypted_content="x"), {"type": "message", "content": [{"text": "So."}]}, function()]
    deltas = heard({"type": "response.created", "response": {}}, over(output=output))
    assert [type(delta) for delta in deltas] == [Opaque, TextDelta, CallDelta, CallDone, ReplyEnded]


def test_a_call_that_was_not_said_to_be_done_is_done_with_the_response():
    begun = added(0, **function(arguments=""))
    for events_ in (
        [begun, piece('{"x":', output_index=0), piece("1}", output_index=0), over()],
        [begun, {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"x":1}'}, over()],
        [begun, over(output=[function()])],
    ):
        assert written(heard(*events_)) == [("c1", "add", '{"x":1}', False)]


def test_calls_come_in_order_though_their_pieces_alternate():
    deltas = heard(
        added(0, **function("c1", "", id="f1")),
        added(1, **function("c2", "", id="f2")),
        piece('{"x":2}', output_index=1),
        piece('{"x":1}', output_index=0),
        ended(1, **function("c2", '{"x":2}', id="f2")),
        ended(0, **function("c1", '{"x":1}', id="f1")),
        over(),
    )
    assert written(deltas) == [("c2", "add", '{"x":2}', False), ("c1", "add", '{"x":1}', False)]


@both
def test_two_calls_with_one_id_get_two_ids(stream):
    with WireServer([reply(call("add", {"a": 1}, id="same"), call("now", {"a": 2}, id="same"))]) as server:
        calls = calls_in(ask(wire.model(server, "responses", stream=stream)))
    assert [(one.name, one.text) for one in calls] == [("add", '{"a": 1}'), ("now", '{"a": 2}')]
    assert len({one.id for one in calls}) == 2


def test_two_open_calls_with_one_id_are_told_apart():
    deltas = heard(
        added(0, **function("same", "")),
        added(1, **function("same", "")),
        ended(0, **function("same", '{"x":1}')),
        ended(1, **function("same", '{"x":2}')),
        over(),
    )
    assert [(one.id, one.text) for one in calls_in(deltas)] == [("same", '{"x":1}'), ("call_1_2", '{"x":2}')]


def test_arguments_may_come_as_an_object_or_not_at_all():
    assert written(heard(ended(0, **function(arguments={"x": [1]})), over()))[0][2] == '{"x":[1]}'
    assert written(heard(ended(0, **function(arguments=None)), over()))[0][2] == "{}"
    assert written(heard(ended(0, type="function_call"), over())) == [("call_1_1", "", "{}", False)]


def test_events_that_are_not_known_are_left_alone():
    deltas = heard(
        {"type": "keepalive", "sequence_number": 3},
        {"type": "response.queued", "response": {"status": "queued"}},
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
        {"type": "response.something.newer", "delta": {"a": 1}, "error": {"message": "of something else"}},
        {},
        text(0, ""),
        text(0, "hi"),
        {"type": "response.output_text.annotation.added", "output_index": 0, "annotation": {}},
        added(1, id="x"),
        ended(1, id="x"),
        over(usage=None),
    )
    assert deltas == [TextDelta("hi"), ReplyEnded("done", Usage(requests=1), "openai:wired")]


def test_comments_keep_a_connection_alive():
    pieces = [b": keepalive\n\n", *[b"data: %b\n\n" % json.dumps(one).encode() for one in (text(0, "hi"), over())]]
    with WireServer([raw(*pieces)]) as server:
        assert text_in(ask(wire.model(server, "responses"))) == "hi"


def test_the_end_of_another_wire_is_an_end_too():
    deltas = heard(text(0, "hi"), added(1, **function(arguments="")), piece('{"x"', output_index=1), done=True)
    assert written(deltas) == [("c1", "add", '{"x"', True)]
    assert (text_in(deltas), deltas[-1].finish) == ("hi", "calls")


# How it ends


@both
def test_usage_is_counted(stream):
    with WireServer([reply("hi", used=Used(read=1000, wrote=30, cached=800)), reply("hi", used=None)]) as server:
        model = wire.model(server, "responses", stream=stream)
        used = [ask(model)[-1].usage for _ in range(2)]
    assert used == [Usage(requests=1, input_tokens=1000, output_tokens=30, cache_read_tokens=800), Usage(requests=1)]


def test_what_was_written_to_a_cache_is_counted():
    details = {"cached_tokens": None, "cache_write_tokens": 7}
    usage = {"input_tokens": 10, "output_tokens": None, "input_tokens_details": details}
    assert heard(over(usage=usage))[-1].usage == Usage(requests=1, input_tokens=10, cache_write_tokens=7)


@both
@pytest.mark.parametrize("finish", ["length", "filtered"])
def test_a_reply_that_was_stopped_says_why(finish, stream):
    with WireServer([reply("Once upon a", finish=finish)]) as server:
        assert ask(wire.model(server, "responses", stream=stream))[-1].finish == finish


@pytest.mark.parametrize(
    ("event", "finish"),
    [
        (over("incomplete", incomplete_details={"reason": "something_newer"}), "length"),
        (over("incomplete", incomplete_details=None), "length"),
        ({"type": "response.completed", "response": {"status": "incomplete"}}, "length"),
        ({"type": "response.incomplete", "response": {"status": "in_progress"}}, "length"),
        ({"type": "response.completed", "response": {}}, "done"),
    ],
)
def test_reasons_that_servers_give(event, finish):
    assert heard(text(0, "hi"), event)[-1].finish == finish


@both
@pytest.mark.parametrize("arguments", ["", "{", '{"a": 1, "b"', '{"a": "x'])
def test_a_call_that_was_cut_off_by_the_limit_says_so(arguments, stream):
    with WireServer([reply(call("add", {"a": 1}), call("add", arguments), finish="length")]) as server:
        deltas = ask(wire.model(server, "responses", stream=stream))
    first, last = calls_in(deltas)
    assert (first.cut, last.cut, deltas[-1].finish) == (False, True, "length")


@both
def test_a_call_that_is_whole_was_not_cut_off(stream):
    with WireServer([reply(call("add", {"a": 1}), finish="length")]) as server:
        (one,) = calls_in(ask(wire.model(server, "responses", stream=stream)))
    assert not one.cut


def test_a_call_of_a_server_that_gives_no_status_is_cut_if_the_reply_was():
    incomplete = over("incomplete", incomplete_details={"reason": "max_output_tokens"})
    deltas = heard(ended(0, **function("c1", "{")), ended(1, **function("c2", "{")), incomplete)
    assert written(deltas) == [("c1", "add", "{", False), ("c2", "add", "{", True)]


@both
def test_arguments_that_are_no_json_are_handed_on_as_they_are(stream):
    with WireServer([reply(call("add", "{'a': 1,}"), say("so"), call("now"))]) as server:
        deltas = ask(wire.model(server, "responses", stream=stream))
    bad = calls_in(deltas)[0]
    assert bad == Written(bad.id, "add", "{'a': 1,}")
    assert deltas.index(CallDone(bad)) < deltas.index(TextDelta("so"))


@both
def test_an_empty_reply_is_a_reply(stream):
    with WireServer([reply()]) as server:
        assert [type(delta) for delta in ask(wire.model(server, "responses", stream=stream))] == [ReplyEnded]


def test_a_call_is_done_while_the_reply_still_streams():
    started = threading.Event()
    with WireServer([reply(call("add", {"a": 1, "b": 2}), gate(started), say("and so on"))]) as server:

        async def listen():
            async for delta in wire.model(server, "responses").reply(request()):
                if isinstance(delta, CallDone):
                    so_far = len(server.sent)
                    started.set()
            return so_far, len(server.sent)

        then, at_last = asyncio.run(listen())
    assert then < at_last


# How it fails

LONG = think("Hm."), say("I'll add."), call("add", {"a": 1, "b": "x}"}, id="c1"), call("now", {}, id="c2")


@both
def test_a_stream_that_breaks_at_any_byte_is_broken_or_complete(stream):
    with WireServer([reply(*LONG, used=None)]) as server:
        complete = ask(wire.model(server, "responses", stream=stream))
        size = sum(len(piece.data) for piece in server.sent)
        server.requests.clear()
        server.script = lambda _: reply(*LONG, used=None, break_at=(len(server.requests) - 1) * 7)

        async def break_everywhere():
            model = wire.model(server, "responses", stream=stream)
            return [await listen(model) for _ in range(0, size, 7)]

        outcomes = asyncio.run(break_everywhere())
    for deltas, error in outcomes:
        assert numbered_alike(deltas) == numbered_alike(complete)[: len(deltas)]
        assert len(deltas) == len(complete) if error is None else type(error) in (ReplyBroken, ModelUnavailable)
    assert any(type(error) is ReplyBroken for _, error in outcomes)


def numbered_alike(deltas):
    """The deltas with the same ids, which differ from request to request, in all reasoning items."""
    return [
        {**json.loads(delta.json), "id": "", "encrypted_content": ""} if isinstance(delta, Opaque) else delta for delta in deltas
    ]


async def listen(model):
    deltas = []
    try:
        async for delta in model.reply(request()):
            deltas.append(delta)
    except (ReplyBroken, ModelUnavailable) as error:
        return deltas, error
    return deltas, None


def test_a_stream_that_ends_without_saying_why_is_broken():
    with WireServer([reply(say("hello"), call("add", {"a": 1}), ended=False)]) as server:
        deltas, error = hear(wire.model(server, "responses"))
    assert type(error) is ReplyBroken
    assert (text_in(deltas), len(calls_in(deltas))) == ("hello", 1)


def test_every_code_that_openai_knows_is_either_worth_another_try_or_not():
    codes = get_args(openai_types.ResponseError.model_fields["code"].annotation)
    retryable = set()
    for code in codes:
        _, error = failed(text(0, "hi"), over("failed", error={"code": code, "message": "no"}))
        if error.retryable:
            retryable.add(code)
        else:
            assert type(error) is ModelRefused
    assert retryable == {"server_error", "rate_limit_exceeded", "vector_store_timeout"}
    assert retryable < set(codes)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", ModelUnavailable),
        ("server_error", ModelUnavailable),
        ("something_newer", ModelUnavailable),
        ("context_length_exceeded", ContextTooLong),
        ("insufficient_quota", ModelRefused),
        ("invalid_api_key", ModelRefused),
        ("invalid_prompt", ModelRefused),
    ],
)
def test_failures_are_told_apart_wherever_they_are_said(code, kind):
    error = {"code": code, "message": "It went wrong."}
    for said_so in (
        failed(over("failed", error=error)),
        failed({"type": "error", **error, "param": None, "sequence_number": 3}),
        failed({"type": "error", "error": error}),
        failed({"error": error}),
        whole({"status": "failed", "output": [], "error": error}),
        whole({"error": error}),
    ):
        assert type(said_so[1]) is kind
        assert "It went wrong." in str(said_so[1])


def test_an_event_named_error_is_an_error():
    payload = json.dumps({"code": "server_error", "message": "overloaded"})
    with WireServer([raw(f"event: error\ndata: {payload}\n\n".encode())]) as server:
        _, error = hear(wire.model(server, "responses"))
    assert type(error) is ModelUnavailable


def test_a_code_may_be_anything():
    assert type(failed({"type": "error", "code": ["odd"], "message": "no"})[1]) is ModelUnavailable


def test_a_failure_without_an_error_is_one_too():
    _, error = failed(over("failed"))
    assert type(error) is ModelUnavailable
    assert "the response failed" in str(error)


def test_what_a_failed_response_has_used_is_told():
    usage = {"input_tokens": 10, "output_tokens": 4}
    for _, error in (
        failed(over("failed", error={"code": "server_error"}, usage=usage)),
        whole({"status": "failed", "output": [], "error": {"code": "server_error"}, "usage": usage}),
    ):
        assert error.usage == Usage(requests=1, input_tokens=10, output_tokens=4)


@pytest.mark.parametrize("status", ["cancelled", "queued", "in_progress"])
def test_a_response_that_is_not_over_is_broken(status):
    _, error = whole({"status": status, "output": []})
    assert type(error) is ReplyBroken
    assert status in str(error)


def test_what_cannot_be_read_is_broken():
    for said_so in (
        failed("{"),
        failed("[1]"),
        failed({"type": "response.output_item.done"}),
        failed({"type": "response.completed", "response": 7}),
        whole({"hello": 1}),
        whole([]),
    ):
        assert type(said_so[1]) is ReplyBroken


def test_refusals_of_the_server_are_told_apart():
    for refusal, kind in (
        (refuse(400, "too long", kind="context_length_exceeded"), ContextTooLong),
        (refuse(400, "Unknown parameter: 'input[3].status'.", kind="unknown_parameter"), ModelRefused),
        (refuse(429, "slow down", kind="rate_limit_exceeded"), ModelUnavailable),
        (refuse(503), ModelUnavailable),
    ):
        with WireServer([refusal]) as server:
            assert type(hear(wire.model(server, "responses"))[1]) is kind


# For real


@both
def test_a_real_server_answers(tmp_path, stream):
    path = smollm()
    try:
        local = start_child(LlamaSettings(str(path), context=512, threads=1, slots=1, kept=str(tmp_path)))
        model = Responses("smollm", base_url=f"{local.address}/v1", api_key=local.key, stream=stream, reasons=False)
        history = request(
            "Say hello.",
            said("Hello."),
            Message("model", (Call("c1", "now", {}),)),
            Message("tools", (Result("c1", "now", "noon"),)),
        )
        for asked in (request("Say hello."), Request("Be brief.", history.history, (ADD,), note="Go on.")):
            deltas = ask(
                model, Request(asked.instructions, asked.history, asked.tools, asked.note, Options(temperature=0, max_tokens=16))
            )
            assert text_in(deltas)
            assert deltas[-1].finish == "done"
            assert deltas[-1].usage.output_tokens > 0
    finally:
        close_children()
