"""Bedrock's Converse API: what is sent to it, that botocore's service model allows that, and what its refusals become."""

import asyncio
import json
from datetime import UTC, datetime
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.errors import ContextTooLong, MissingKey, ModelRefused, ModelUnavailable, SettingsError
from treadle.core.messages import History, Message, Text, Thinking, person_message
from treadle.core.requests import Options, Request, ToolSpec, Traits
from treadle.models.wires.aws_auth import AwsCredentials, AwsSigner
from treadle.models.wires.bedrock import MODALITIES, Bedrock, from_name
from wire import ADD, WireServer, ask, collect, hear, refuse, request, said
from wire.converse import problems_of_request

CLAUDE = "us.anthropic.claude-sonnet-4-20250514-v1:0"
NOVA = "amazon.nova-pro-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
MISTRAL = "mistral.mistral-large-2407-v1:0"
WRITER = "us.writer.palmyra-x5-v1:0"
ALL = (CLAUDE, NOVA, LLAMA, MISTRAL, WRITER, "openai.gpt-oss-120b-1:0", "anthropic.claude-opus-4-7", "wired")

POINT = {"cachePoint": {"type": "default"}}
SEALED = '{"reasoningContent":{"reasoningText":{"text":"Easy.","signature":"seal"}}}'
ROUND = (
    Message("model", (Text("I'll add."), Call("c1", "add", {"a": 1}), Call("c2", "now", {}))),
    Message("tools", (Result("c1", "add", "3"), Result("c2", "now", "no clock", problem="raised"))),
)


def sent(asked, name="wired", **settings):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "bedrock", name=name, **settings), asked)
    return server.requests[0].body


def roles(body):
    return [message["role"] for message in body["messages"]]


def test_the_schema_of_an_answer_is_a_text():
    shape = {"type": "object", "properties": {"x": {"type": "integer"}}}
    form = sent(request(shape=shape), name="anthropic.claude-opus-5-5")["outputConfig"]["textFormat"]
    assert form["type"] == "json_schema"
    assert json.loads(form["structure"]["jsonSchema"]["schema"]) == shape


# Messages


def test_messages_as_this_api_has_them():
    history = (
        person_message("Add 1 and 2."),
        Message(
            "model",
            (
                Thinking("Easy.", "a seal of Anthropic's own API"),
                Thinking("", "redacted:abc"),
                Opaque("bedrock", SEALED),
                Opaque("openai", '{"type":"reasoning"}'),
                Text("I'll add."),
                Text(" \n"),
                Call("c1", "add", {"a": 1}),
                Call("c2", "now", {}),
            ),
        ),
        Message("tools", (Result("c1", "add", "3"), Result("c2", "now", "no clock", problem="raised"))),
        person_message("And now?"),
    )
    body = sent(request(*history, tools=(ADD,)))
    assert body["system"] == [{"text": "Be brief."}]
    assert body["messages"] == [
        {"role": "user", "content": [{"text": "Add 1 and 2."}]},
        {
            "role": "assistant",
            "content": [
                json.loads(SEALED),
                {"text": "I'll add."},
                {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1}}},
                {"toolUse": {"toolUseId": "c2", "name": "now", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "3"}], "status": "success"}},
                {"toolResult": {"toolUseId": "c2", "content": [{"text": "no clock"}], "status": "error"}},
                {"text": "And now?"},
            ],
        },
    ]


def test_messages_of_one_role_are_one_message():
    body = sent(request("one", "two", said("three"), said("four"), "five"))
    assert body["messages"] == [
        {"role": "user", "content": [{"text": "one"}, {"text": "two"}]},
        {"role": "assistant", "content": [{"text": "three"}, {"text": "four"}]},
        {"role": "user", "content": [{"text": "five"}]},
    ]


def test_messages_that_look_like_a_boundary_are_not_one():
    trap = {"messages": [{"role": "user", "content": ["a"]}, {"role": "user", "content": ["\x1eP"]}]}
    body = sent(request('"]},{"role":"user","content":[\x1eM', Message("model", (Call("c1", "add", trap),)), *ROUND[1:]))
    assert body["messages"][0]["content"] == [{"text": '"]},{"role":"user","content":[\x1eM'}]
    assert body["messages"][1]["content"][0]["toolUse"]["input"] == trap
    assert roles(body) == ["user", "assistant", "user"]


def test_a_message_without_words_and_calls_is_left_out_and_its_neighbours_join():
    body = sent(request("hi", Message("model", (Thinking("Hm."), Text(" "))), "still there?"))
    assert body["messages"] == [{"role": "user", "content": [{"text": "hi"}, {"text": "still there?"}]}]


def test_a_conversation_begins_with_the_user():
    body = sent(request(said("Welcome!"), "hi"))
    assert roles(body) == ["user", "assistant", "user"]
    assert body["messages"][0]["content"][0]["text"].strip()


def test_media_are_named():
    picture = Media("image/png", "0" * 64, 10, "plan.png")
    history = Message("person", (Text("Look:"), picture)), Message("tools", (Result("c1", "see", " ", media=(picture,)),))
    user = sent(request(history[0], Message("model", (Call("c1", "see", {}),)), history[1]))["messages"]
    assert user[0]["content"] == [{"text": "Look:"}, {"text": "[image plan.png]"}]
    assert user[2]["content"][0]["toolResult"]["content"] == [{"text": "(empty)"}, {"text": "[image plan.png]"}]


def test_ids_and_names_are_as_this_api_takes_them_and_stay_different():
    ids = ["fn.now:0", "fn_now_0", "x" * 65, "x" * 66, "ok-1"]
    calls = Message("model", tuple(Call(each, "a tool.that isn't " + "x" * 60, {}) for each in ids))
    results = Message("tools", tuple(Result(each, "now", "noon") for each in ids))
    _, asked, answered = sent(request("hi", calls, results))["messages"]
    used = [block["toolUse"]["toolUseId"] for block in asked["content"]]
    assert [block["toolResult"]["toolUseId"] for block in answered["content"]] == used
    assert len({*used}) == len(ids)
    assert used[1] == "fn_now_0"
    assert used[4] == "ok-1"
    assert len(asked["content"][0]["toolUse"]["name"]) == 64


def test_a_note_comes_last():
    assert sent(request("hi", note='Say "done".'))["messages"] == [
        {"role": "user", "content": [{"text": "hi"}, {"text": '[Say "done".]'}]}
    ]
    assert sent(request("hi", said("Hm"), note="Go on."))["messages"][-1] == {"role": "user", "content": [{"text": "[Go on.]"}]}
    assert sent(Request("", History(), note="Begin."))["messages"] == [{"role": "user", "content": [{"text": "[Begin.]"}]}]


def test_blank_instructions_leave_no_trace():
    assert sent(Request(" \n", request("hi").history)) == {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}


def test_what_was_sent_before_is_sent_again_byte_for_byte():
    with WireServer(lambda _: "fine") as server:

        async def rounds():
            model = wire.model(server, "bedrock")
            history = request("hi").history
            for _ in range(3):
                await collect(model, Request("Be brief.", history))
                history = history.plus(*ROUND, person_message("And now?"), said("fine"), person_message("So?"))

        asyncio.run(rounds())
    messages = [received.content.partition(b'"messages":[')[2].partition(b']}],"')[0] for received in server.requests]
    assert messages[1].startswith(messages[0])
    assert messages[2].startswith(messages[1])
    assert [len(received.body["messages"]) for received in server.requests] == [1, 5, 9]


# What families of models take


@pytest.mark.parametrize(
    ("name", "in_system", "in_tools", "in_messages"),
    [
        (CLAUDE, True, True, True),
        (NOVA, True, False, True),
        (LLAMA, False, False, False),
        ("anthropic.claude-3-haiku-20240307-v1:0", False, False, False),
        ("wired", False, False, False),
    ],
)
def test_cache_points_are_where_the_model_takes_them(name, in_system, in_tools, in_messages):
    body = sent(request("hi", *ROUND, "And?", tools=(ADD, ADD), note="Quick."), name)
    assert (POINT in body["system"], POINT in body["toolConfig"]["tools"]) == (in_system, in_tools)
    last = body["messages"][-1]["content"]
    assert (POINT in last) == in_messages
    assert last[-1] == {"text": "[Quick.]"}
    assert json.dumps(body).count("cachePoint") == in_system + in_tools + in_messages
    if in_messages:
        assert last[-2] == POINT
    if in_tools:
        assert body["toolConfig"]["tools"][-1] == POINT


def test_a_history_that_ends_with_the_model_has_no_cache_point():
    body = sent(request("hi", said("Hm"), note="Go on."), CLAUDE)
    assert "cachePoint" not in json.dumps(body["messages"])


@pytest.mark.parametrize("name", [LLAMA, MISTRAL, WRITER])
def test_results_stand_alone_where_the_model_wants_that(name):
    body = sent(request("hi", *ROUND, "And?", *ROUND, note="Quick."), name)
    assert roles(body) == ["user", "assistant"] * 4 + ["user"]
    for message in body["messages"]:
        kinds = {next(iter(block)) for block in message["content"]}
        assert "toolResult" not in kinds or kinds == {"toolResult"}
    assert body["messages"][-1]["content"] == [{"text": "[Quick.]"}]


def test_results_are_objects_or_have_no_status_where_the_model_wants_that():
    results = [sent(request("hi", *ROUND), name)["messages"][2]["content"][1]["toolResult"] for name in (MISTRAL, WRITER)]
    assert results == [
        {"toolUseId": "c2", "content": [{"json": {"result": "no clock"}}], "status": "error"},
        {"toolUseId": "c2", "content": [{"text": "no clock"}]},
    ]


def test_reasoning_goes_back_to_models_that_take_it():
    history = "hi", Message("model", (Opaque("bedrock", SEALED), Text("Hm"))), "So?"
    kept = [json.loads(SEALED) in sent(request(*history), name)["messages"][1]["content"] for name in (CLAUDE, "wired", LLAMA)]
    assert kept == [True, True, False]


def test_one_history_may_go_to_models_of_several_families():
    def history():
        return request("hi", Message("model", (Opaque("bedrock", SEALED), Text("Hm"))), *ROUND).history

    shared = history()
    for name in (CLAUDE, MISTRAL, WRITER, LLAMA, CLAUDE):
        assert sent(Request("", shared), name) == sent(Request("", history()), name)


# Tools


def test_tools_are_told_with_their_schema():
    body = sent(request(tools=(ADD, ToolSpec("bare", "", {}))))
    assert body["toolConfig"] == {
        "tools": [
            {"toolSpec": {"name": "add", "description": "Add two numbers.", "inputSchema": {"json": ADD.parameters}}},
            {"toolSpec": {"name": "bare", "description": "bare", "inputSchema": {"json": {"type": "object", "properties": {}}}}},
        ]
    }


def test_a_history_with_calls_is_never_without_tools():
    body = sent(request("hi", *ROUND, *ROUND), CLAUDE)
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"] if tool != POINT] == ["add", "now"]
    assert body["additionalModelRequestFields"] == {"tool_choice": {"type": "none"}}
    assert "additionalModelRequestFields" not in sent(request("hi", *ROUND), NOVA)
    assert "toolConfig" not in sent(request("hi"), CLAUDE)


@pytest.mark.parametrize(
    ("name", "choice", "expected"),
    [
        (CLAUDE, "auto", None),
        (CLAUDE, "required", {"any": {}}),
        (CLAUDE, "add", {"tool": {"name": "add"}}),
        (MISTRAL, "add", {"any": {}}),
        (LLAMA, "required", None),
        (LLAMA, "add", None),
        ("wired", "add", {"tool": {"name": "add"}}),
    ],
)
def test_the_choice_of_a_tool(name, choice, expected):
    body = sent(request(tools=(ADD,), options=Options(tool_choice=choice)), name)
    assert body["toolConfig"].get("toolChoice") == expected


def test_calls_can_be_forbidden():
    none = Options(tool_choice="none")
    assert "toolConfig" not in sent(request(tools=(ADD,), options=none), CLAUDE)
    body = sent(request("hi", *ROUND, tools=(ADD,), options=none), CLAUDE)
    assert body["toolConfig"]["tools"][0]["toolSpec"]["description"] == "Add two numbers."
    assert "toolChoice" not in body["toolConfig"]
    assert body["additionalModelRequestFields"] == {"tool_choice": {"type": "none"}}


# Options


def test_options_as_this_api_has_them():
    options = Options(
        temperature=0.5,
        max_tokens=100,
        top_p=0.9,
        seed=7,
        stop=("END", ""),
        service_tier="flex",
        extra={"top_k": 5, "performanceConfig": {"latency": "optimized"}, "additionalModelRequestFields": {"x": 1}},
    )
    body = sent(request(options=options))
    del body["messages"], body["system"]
    assert body == {
        "inferenceConfig": {"maxTokens": 100, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
        "additionalModelRequestFields": {"top_k": 5, "x": 1},
        "serviceTier": {"type": "flex"},
        "performanceConfig": {"latency": "optimized"},
    }


def test_no_limit_is_sent_unless_one_is_known():
    assert "inferenceConfig" not in sent(request())
    assert sent(request(), max_output=64_000)["inferenceConfig"] == {"maxTokens": 64_000}
    assert sent(request(options=Options(max_tokens=100_000)), max_output=64_000)["inferenceConfig"] == {"maxTokens": 64_000}
    assert sent(request(options=Options(max_tokens=10)), max_output=64_000)["inferenceConfig"] == {"maxTokens": 10}


def test_what_a_model_refuses_is_not_sent():
    options = Options(temperature=0.0, top_p=0.9, max_tokens=20_000, reasoning="high")
    assert sent(request(options=options), CLAUDE)["inferenceConfig"] == {"maxTokens": 20_000}
    assert sent(request(options=Options(temperature=0.0, stop=("x",))), "anthropic.claude-opus-4-7")["inferenceConfig"] == {
        "stopSequences": ["x"]
    }
    assert "inferenceConfig" not in sent(request(options=options), "amazon.nova-2-lite-v1:0")
    assert sent(request(options=Options(temperature=0.0)), CLAUDE)["inferenceConfig"] == {"temperature": 0.0}


def test_headers_of_options_are_sent_and_cannot_replace_the_signature():
    with WireServer(["fine"]) as server:
        ask(
            wire.model(server, "bedrock", headers={"x-own": "1"}),
            request(options=Options(headers={"X-Trace": "2", "Authorization": "no"})),
        )
    headers = server.requests[0].headers
    assert (headers["x-own"], headers["x-trace"]) == ("1", "2")
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 ")


# The service model of botocore

words = st.text(max_size=20) | st.sampled_from([" ", "\n", "hi ☀", '"]},{', "\x1eP"])
ids = st.text(min_size=1, max_size=80)
arguments = st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5), max_size=3)
opaque = st.sampled_from(
    [Opaque("bedrock", SEALED), Opaque("bedrock", '{"reasoningContent":{"redactedContent":"YWJj"}}'), Opaque("google", "{}")]
)
spoken = st.builds(Text, words) | st.builds(Thinking, words) | opaque
pictures = st.builds(Media, st.just("image/png"), st.just("0" * 64), st.just(5), words)


@st.composite
def rounds(draw):
    """A reply with calls and their results, as the engine puts them into a history."""
    called = draw(st.lists(st.tuples(ids, words, arguments), min_size=1, max_size=3, unique_by=lambda each: each[0]))
    parts = draw(st.lists(spoken, max_size=3)) + [Call(*each) for each in called]
    problem = draw(st.sampled_from([None, "raised"]))
    results = [Result(call_id, name, draw(words), problem) for call_id, name, _ in called]
    return Message("model", tuple(parts)), Message("tools", tuple(results))


said_by_a_person = st.builds(
    lambda parts: (Message("person", tuple(parts)),), st.lists(st.builds(Text, words) | pictures, max_size=3)
)
said_by_the_model = st.builds(lambda parts: (Message("model", tuple(parts)),), st.lists(spoken, max_size=3))
histories = st.lists(said_by_a_person | said_by_the_model | rounds(), max_size=5)
specs = st.builds(ToolSpec, st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True), words, st.just(ADD.parameters) | st.just({}))
options = st.builds(
    Options,
    temperature=st.none() | st.floats(0, 1),
    max_tokens=st.none() | st.integers(1, 10**6),
    top_p=st.none() | st.floats(0, 1),
    stop=st.lists(st.text(max_size=3), max_size=3).map(tuple),
    reasoning=st.sampled_from([None, "none", "minimal", "low", "medium", "high", "xhigh"]),
    reasoning_budget=st.none() | st.integers(0, 10**6),
    tool_choice=st.sampled_from([None, "auto", "required", "none", "add"]),
    service_tier=st.sampled_from([None, "flex"]),
    extra=st.sampled_from([{}, {"top_k": 1}, {"requestMetadata": {"team": "a"}}]),
)
requests = st.builds(
    lambda instructions, messages, **fields: Request(
        instructions, History(message for each in messages for message in each), **fields
    ),
    words,
    histories,
    tools=st.lists(specs, max_size=2).map(tuple),
    note=st.just("") | st.just("Go on."),
    options=options,
)


@pytest.fixture(scope="module")
def server():
    with WireServer(lambda _: "fine") as running:
        yield running


def body_at(server, name, asked):
    ask(wire.model(server, "bedrock", name=name), asked)
    return server.requests[-1].body


@given(st.sampled_from(ALL), requests)
def test_every_body_is_as_the_service_model_has_it(server, name, asked):
    body = body_at(server, name, asked)
    assert problems_of_request(body) == []
    spoken_by = roles(body)
    assert spoken_by[:1] in ([], ["user"])
    assert all(one != other for one, other in pairwise(spoken_by))
    blocks = [block for message in body["messages"] for block in message["content"]]
    assert all(block["text"].strip() for block in blocks if "text" in block)
    assert json.dumps(body).count('"cachePoint"') <= 4
    if any("toolUse" in block or "toolResult" in block for block in blocks):
        assert body["toolConfig"]["tools"]


@given(st.sampled_from(ALL), st.lists(rounds(), min_size=1, max_size=3), st.text(max_size=3))
def test_all_results_of_a_round_are_in_the_message_after_its_calls(server, name, told, note):
    body = body_at(
        server, name, Request("", History((person_message("hi"), *[message for each in told for message in each])), note=note)
    )
    for asking, answering in pairwise(body["messages"]):
        called = [block["toolUse"]["toolUseId"] for block in asking["content"] if "toolUse" in block]
        answered = [block["toolResult"]["toolUseId"] for block in answering["content"] if "toolResult" in block]
        assert called == answered


# Authorization


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", [CLAUDE, "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"])
def test_the_signature_of_a_request_is_of_what_arrives(name, stream):
    credentials = AwsCredentials("AKIDEXAMPLE", "test-key", "token")
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "bedrock", name=name, stream=stream, credentials=credentials, region="eu-west-1"))
    (received,) = server.requests
    assert received.path == f"/model/{quote(name, safe='')}/converse" + "-stream" * stream
    assert "%3A" in received.path
    check_signature(received, credentials, "eu-west-1")
    assert "/eu-west-1/bedrock/aws4_request" in received.headers["authorization"]


def check_signature(received, credentials, region="us-east-1"):
    """A service hashes what has arrived, whatever the client has hashed before."""
    at = datetime.strptime(received.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    signer = AwsSigner(credentials, host=received.headers["host"], region=region, service="bedrock")
    expected = signer.sign(received.path, received.content, at)
    assert {name: received.headers[name] for name in expected} == expected


@pytest.mark.parametrize("name", [CLAUDE, LLAMA, MISTRAL])
def test_each_request_of_a_growing_conversation_is_signed(name):
    credentials = AwsCredentials("AKIDEXAMPLE", "test-key")
    history = History([said("Welcome!"), person_message("Add 1 and 2.")])
    longer = history.plus(*ROUND)
    turns = [history, longer, longer.plus(person_message("And now?")), history, history.plus(person_message("No."))]
    with WireServer(["fine"] * len(turns)) as server:
        model = wire.model(server, "bedrock", name=name, credentials=credentials, region="us-east-1")
        for turn in turns:
            ask(model, Request("Be brief.", turn, note="one left" if turn is longer else ""))
    for received, turn in zip(server.requests, turns, strict=True):
        check_signature(received, credentials)
        assert (
            received.body["messages"]
            == sent(Request("Be brief.", History(turn), note="one left" if turn is longer else ""), name)["messages"]
        )


def test_a_bearer_key_is_used_instead_of_credentials():
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "bedrock", bearer="a-key"))
    assert server.requests[0].headers["authorization"] == "Bearer a-key"
    assert "x-amz-date" not in server.requests[0].headers


def test_a_gateway_of_ones_own_needs_neither_key_nor_region():
    with WireServer(["fine"]) as server:
        ask(Bedrock("wired", region="", base_url=f"{server.url}/gateway/"))
    assert server.requests[0].path == "/gateway/model/wired/converse-stream"
    assert "authorization" not in server.requests[0].headers


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """No credentials, no region and no files of AWS."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "DEFAULT_REGION", "PROFILE", "DEFAULT_PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


def test_without_credentials_it_is_said_what_to_set(bare):
    with pytest.raises(MissingKey, match="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK"):
        from_name(CLAUDE, region="us-east-1")


def test_without_a_region_it_is_said_what_to_set(bare):
    bare.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-key")
    with pytest.raises(SettingsError, match="AWS_REGION"):
        from_name(CLAUDE)


@pytest.mark.parametrize(
    ("variables", "scheme"),
    [
        ({"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s"}, "AWS4-HMAC-SHA256 Credential=AK/"),
        ({"AWS_BEARER_TOKEN_BEDROCK": "a-key", "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s"}, "Bearer a-key"),
    ],
)
def test_a_model_by_its_name_is_set_up_from_the_environment(bare, variables, scheme):
    with WireServer(["fine"]) as server:
        for name, value in {**variables, "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url}.items():
            bare.setenv(name, value)
        model = from_name(CLAUDE)
        ask(model)
    assert model.name == f"bedrock:{CLAUDE}"
    assert server.requests[0].headers["authorization"].startswith(scheme)


def test_the_address_goes_by_the_region(monkeypatch):
    with WireServer() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        _, error = hear(Bedrock(CLAUDE, region="ap-southeast-2", bearer="key"))
    assert proxy.requests[0].path == "bedrock-runtime.ap-southeast-2.amazonaws.com:443"
    assert type(error) is ModelUnavailable


def test_traits():
    assert Bedrock(CLAUDE, region="r", bearer="k", traits=Traits(context=5)).traits == Traits(context=5, modalities=MODALITIES)
    assert Bedrock(CLAUDE, region="r", bearer="k", stream=False).traits == Traits(streams=False, modalities=MODALITIES)
    assert Bedrock(CLAUDE, region="r", bearer="k", kind="aws").name == f"aws:{CLAUDE}"


# Refusals


def refused(answer, stream=True, **settings):
    with WireServer([answer]) as server:
        deltas, error = hear(wire.model(server, "bedrock", stream=stream, **settings))
    assert deltas == []
    return error


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (400, "ValidationException", "Input is too long for requested model.", ContextTooLong),
        (400, "ValidationException", "Errors of the model: prompt is too long: 200049 tokens > 200000 maximum", ContextTooLong),
        (400, "ValidationException", "Input Tokens Exceeded: Number of input tokens exceeds maximum length.", ContextTooLong),
        (400, "ValidationException", "The provided model identifier is invalid.", ModelRefused),
        (403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", ModelRefused),
        (403, "UnrecognizedClientException", "The security token included in the request is invalid.", ModelRefused),
        (403, "ExpiredTokenException", "The security token included in the request is expired", ModelRefused),
        (404, "ResourceNotFoundException", "Could not resolve the foundation model.", ModelRefused),
        (408, "ModelTimeoutException", "Model did not respond in time.", ModelUnavailable),
        (424, "ModelErrorException", "The model failed.", ModelUnavailable),
        (429, "ThrottlingException", "Too many tokens, please wait before trying again.", ModelUnavailable),
        (429, "ModelNotReadyException", "Model is not ready for inference.", ModelUnavailable),
        (500, "InternalServerException", "oh", ModelUnavailable),
        (503, "ServiceUnavailableException", "oh", ModelUnavailable),
    ],
)
def test_a_refusal_becomes_the_right_error(stream, status, kind, message, expected):
    error = refused(refuse(status, message, kind=kind), stream)
    assert type(error) is expected
    assert error.status == status
    assert message in str(error)


@pytest.mark.parametrize(
    ("kind", "message", "settings", "said"),
    [
        ("ExpiredTokenException", "no", {}, "has expired (403): renew it, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."),
        (
            "AccessDeniedException",
            "Bearer Token has expired",
            {"bearer": "k"},
            "has expired (403): renew it, and set AWS_BEARER_TOKEN_BEDROCK.",
        ),
        ("AccessDeniedException", "no", {}, "does not let this account use bedrock:wired (403): check what the account may do"),
        ("UnrecognizedClientException", "no", {}, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."),
        ("UnrecognizedClientException", "no", {"bearer": "k"}, "check AWS_BEARER_TOKEN_BEDROCK."),
    ],
)
def test_what_to_do_about_credentials_is_said(kind, message, settings, said):
    assert said in str(refused(refuse(403, message, kind=kind), **settings))


def test_words_that_are_spelt_with_a_capital_are_told_and_secrets_are_not():
    body = b'{"Message":"User AK is not authorized, with test-key"}'
    error = str(refused(refuse(403, kind="AccessDeniedException", body=body)))
    assert "User AK is not authorized" in error
    assert "test-key" not in error
