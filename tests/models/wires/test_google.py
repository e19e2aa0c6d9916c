"""Gemini's protocol: contents that alternate, signatures that go back, and replies in all their parts.

Where Google's own client is installed, it judges what is sent, and reads what the server of these tests answers.
"""

import json
from itertools import pairwise

import pytest

import wire
from models.wires import test_wires
from treadle import Agent, allow, tool
from treadle.core.calls import Call, Media, Opaque, Result, Written
from treadle.core.errors import ContextTooLong, MissingKey, ModelRefused, ModelUnavailable, ReplyBroken
from treadle.core.messages import History, Message, Text, Thinking, person_message
from treadle.core.requests import CallDone, Options, ReplyEnded, Request, TextDelta, ThinkingDelta, ToolSpec, Traits, Usage
from treadle.models.wires.google import NO_SIGNATURE, Google
from wire import (
    ADD,
    WireServer,
    ask,
    break_off,
    call,
    calls_in,
    events,
    hear,
    raw,
    refuse,
    reply,
    request,
    said,
    say,
    text_in,
    think,
)

ADD_PARAMETERS = {
    "type": "OBJECT",
    "properties": {"a": {"type": "INTEGER"}, "b": {"type": "INTEGER"}},
    "required": ["a", "b"],
}
NOW = ToolSpec("now", "The time.", {"type": "object", "properties": {}})
SIGNED = Opaque("google", '{"thoughtSignature":"c2lnbmF0dXJl"}')
ROUND = (
    person_message("Add 1 and 2."),
    Message("model", (Thinking("Easy."), Text("I'll add."), Call("c1", "add", {"a": 1, "b": 2}, SIGNED), Call("c2", "now", {}))),
    Message("tools", (Result("c1", "add", "3"), Result("c2", "now", "no clock", problem="raised"))),
)


@pytest.fixture
def genai():
    return pytest.importorskip("google.genai", reason="google-genai isn't installed")


def received(asked=None, **settings):
    with WireServer(["fine"]) as server:
        ask(wire.model(server, "google", **settings), asked)
    return server.requests[0]


def sent(asked=None, **settings):
    return received(asked, **settings).body


def chunk(*parts, finish=None, **fields):
    candidate = {"content": {"role": "model", "parts": list(parts)}, **({"finishReason": finish} if finish else {}), **fields}
    return {"candidates": [candidate]}


def heard(*chunks, asked=None, **settings):
    with WireServer([events(*chunks, done=False)]) as server:
        return ask(wire.model(server, "google", **settings), asked)


def failure(answer, **settings):
    with WireServer([answer]) as server:
        _, error = hear(wire.model(server, "google", **settings))
    return error


# What every wire does

ALIKE = [
    test_wires.test_words_arrive,
    test_wires.test_thinking_is_kept_apart_from_words,
    test_wires.test_calls_arrive_in_order_with_their_arguments,
    test_wires.test_a_call_is_announced_before_it_is_done,
    test_wires.test_two_calls_with_one_id_get_two_ids,
    test_wires.test_usage_is_counted,
    test_wires.test_a_server_that_counts_nothing_has_still_been_asked_once,
    test_wires.test_a_reply_that_ran_into_its_limit_says_so,
    test_wires.test_a_reply_that_was_filtered_says_so,
    test_wires.test_an_empty_reply_is_a_reply,
    test_wires.test_a_stream_that_breaks_at_any_byte_is_broken_or_complete,
]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("alike", ALIKE, ids=lambda test: test.__name__.removeprefix("test_"))
def test_it_does_what_every_wire_does(alike, stream):
    alike("google", stream)


@pytest.mark.parametrize(
    "alike",
    [
        test_wires.test_a_call_is_done_while_the_reply_still_streams,
        test_wires.test_a_stream_that_ends_without_saying_why_is_broken,
        test_wires.test_a_call_that_is_whole_was_not_cut_off,
    ],
    ids=lambda test: test.__name__.removeprefix("test_"),
)
def test_its_stream_does_what_every_stream_does(alike):
    alike("google")


# What is sent


def test_messages_become_contents_of_alternating_roles():
    body = sent(request(*ROUND, "And now?"))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "Add 1 and 2."}]},
        {
            "role": "model",
            "parts": [
                {"text": "I'll add."},
                {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}, "thoughtSignature": "c2lnbmF0dXJl"},
                {"functionCall": {"id": "c2", "name": "now", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "add", "response": {"output": "3"}}},
                {"functionResponse": {"id": "c2", "name": "now", "response": {"error": "no clock"}}},
                {"text": "And now?"},
            ],
        },
    ]


def roles(*messages, **fields):
    return [(content["role"], len(content["parts"])) for content in sent(request(*messages, **fields))["contents"]]


def test_messages_of_one_role_in_a_row_become_one_content():
    assert roles("one", "two", said("yes"), said("indeed"), "three") == [("user", 2), ("model", 2), ("user", 1)]


def test_a_message_without_anything_to_send_leaves_no_gap():
    assert roles("hi", Message("model", (Thinking("Hm."),)), "still there?") == [("user", 2)]
    assert roles("hi", Message("model", (Text(""),)), Message("person", ()), "so?") == [("user", 2)]


def test_a_history_that_begins_with_the_model_gets_a_user_before_it():
    body = sent(request(said("Welcome."), "hi"))
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][0]["parts"][0]["text"]


def test_a_note_joins_what_the_user_said_last():
    assert sent(request("hi", note='Say "done".'))["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}, {"text": '[Say "done".]'}]}
    ]
    assert roles(*ROUND, note="Hurry.")[-1] == ("user", 3)
    assert roles("hi", said("hm"), note="Go on.") == [("user", 1), ("model", 1), ("user", 1)]
    assert sent(Request("", History(), note="Begin."))["contents"] == [{"role": "user", "parts": [{"text": "[Begin.]"}]}]


def test_arguments_that_look_like_contents_stay_arguments():
    inner = {"x": [{"parts": []}, {"role": "user", "parts": [{"text": "\x01"}]}, {"role": "model", "parts": ["\x02,"]}]}
    calls = Message("model", (Call("c1", "post", inner),))
    body = sent(request("hi", calls, Message("tools", (Result("c1", "post", '"]},{"role":"user","parts":['),)), "and?"))
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == inner


def test_a_longer_history_begins_with_the_shorter_one():
    pieces = []
    with WireServer(lambda _: "fine") as server:
        model = wire.model(server, "google", name="gemini-3-pro")
        history = History(ROUND)
        for _ in range(3):
            ask(model, Request("Be brief.", history))
            pieces.append(json.dumps(server.requests[-1].body["contents"])[:-3])
            history = history.plus(said("fine"), person_message("And now?"))
    assert all(later.startswith(earlier) for earlier, later in pairwise(pieces))


def test_pictures_are_named_and_parts_of_other_wires_left_out():
    picture = Media("image/png", "0" * 64, 10, "plan.png")
    foreign = Opaque("openai", '{"type":"reasoning"}')
    code = Opaque("google", '{"executableCode":{"language":"PYTHON","code":"1"}}')
    other = Call("c1", "now", {}, Opaque("openai", '{"x":1}'))
    body = sent(request(Message("person", (Text("See"), picture)), Message("model", (foreign, code, other))))
    assert body["contents"][0]["parts"] == [{"text": "See"}, {"text": "[image plan.png]"}]
    assert body["contents"][1]["parts"] == [
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"functionCall": {"id": "c1", "name": "now", "args": {}}},
    ]


def signatures(name, *calls):
    body = sent(request("hi", Message("model", calls), Message("tools", (Result("c1", "now", "noon"),))), name=name)
    return [part.get("thoughtSignature") for part in body["contents"][1]["parts"]]


@pytest.mark.parametrize(
    "name", ["gemini-3-pro-preview", "gemini-3.5-flash", "models/gemini-3-flash", "gemini-4", "gemini-flash-latest"]
)
def test_calls_of_another_model_are_marked_as_such_from_gemini_3_on(name):
    plain, signed = Call("c1", "now", {}), Call("c1", "now", {}, SIGNED)
    assert signatures(name, Text("so"), plain, plain) == [None, NO_SIGNATURE, None]
    assert signatures(name, signed, plain) == ["c2lnbmF0dXJl", None]


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-2.0-flash", "gemma-3-27b-it", "wired"])
def test_calls_of_another_model_bear_no_mark_for_others(name):
    assert signatures(name, Call("c1", "now", {})) == [None]


def test_tools_are_declared_with_converted_parameters_or_none():
    (tools,) = sent(request(tools=(ADD, NOW)))["tools"]
    assert tools == {
        "functionDeclarations": [
            {"name": "add", "description": "Add two numbers.", "parameters": ADD_PARAMETERS},
            {"name": "now", "description": "The time."},
        ]
    }


def test_names_that_this_protocol_refuses_are_changed_there_and_back():
    odd = ToolSpec("3d-model", "Make it.", {})
    history = Message("model", (Call("c1", "3d-model", {}),)), Message("tools", (Result("c1", "3d-model", "done"),))
    asked = request("hi", *history, tools=(odd, ADD), options=Options(tool_choice="3d-model"))
    with WireServer([events(chunk({"functionCall": {"name": "_3d-model", "args": {}}}, finish="STOP"), done=False)]) as server:
        (one,) = calls_in(ask(wire.model(server, "google"), asked))
    body = server.requests[0].body
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "_3d-model"
    assert body["contents"][1]["parts"][0]["functionCall"]["name"] == "_3d-model"
    assert body["contents"][2]["parts"][0]["functionResponse"]["name"] == "_3d-model"
    assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["_3d-model"]
    assert one.name == "3d-model"


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("add", {"mode": "ANY", "allowedFunctionNames": ["add"]}),
    ],
)
def test_which_tool_to_call(choice, config):
    assert sent(request(tools=(ADD,), options=Options(tool_choice=choice)))["toolConfig"] == {"functionCallingConfig": config}
    assert "toolConfig" not in sent(request(options=Options(tool_choice=choice)))


def test_no_instructions_tools_and_options_leave_no_trace():
    assert sent(Request("", request("hi").history)) == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def test_options_as_this_protocol_has_them():
    options = Options(
        temperature=0.5, max_tokens=100, top_p=0.9, seed=7, stop=("END",), parallel_calls=False, service_tier="flex", cache_key="k"
    )
    body = sent(request(options=options))
    assert body.keys() == {"systemInstruction", "generationConfig", "contents"}
    assert body["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "maxOutputTokens": 100,
        "stopSequences": ["END"],
        "seed": 7,
    }


def test_no_more_is_asked_for_than_the_model_can_write():
    assert sent(request(), max_output=50)["generationConfig"] == {"maxOutputTokens": 50}
    assert sent(request(options=Options(max_tokens=100)), max_output=50)["generationConfig"] == {"maxOutputTokens": 50}
    assert sent(request(options=Options(max_tokens=20)), max_output=50)["generationConfig"] == {"maxOutputTokens": 20}


@pytest.mark.parametrize(
    ("name", "options", "config"),
    [
        ("gemini-3.5-flash", {"reasoning": "none"}, {"includeThoughts": False, "thinkingLevel": "MINIMAL"}),
        ("gemini-3.1-pro", {"reasoning": "minimal"}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3.1-pro", {"reasoning": "medium"}, {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-3-pro-preview", {"reasoning": "medium"}, {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3.5-flash", {"reasoning": "low", "reasoning_budget": 9}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3.5-flash", {"reasoning": "xhigh"}, {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3.5-flash", {"reasoning_budget": 9}, {"includeThoughts": True, "thinkingBudget": 9}),
        ("gemini-2.5-flash", {"reasoning": "none"}, {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-flash", {"reasoning": "high"}, {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-2.5-flash", {"reasoning": "high", "reasoning_budget": 9}, {"includeThoughts": True, "thinkingBudget": 9}),
        ("gemini-2.5-flash", {"reasoning_budget": 0}, {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-pro", {"reasoning": "none"}, {"includeThoughts": False, "thinkingBudget": 128}),
        ("gemini-2.5-pro", {"reasoning": "xhigh"}, {"includeThoughts": True, "thinkingBudget": 32768}),
        ("gemini-2.5-pro", {}, None),
        ("gemini-2.0-flash", {"reasoning": "high"}, None),
        ("gemma-3-27b-it", {"reasoning": "high"}, None),
    ],
)
def test_how_much_to_think(name, options, config):
    body = sent(request(options=Options(**options)), name=name)
    assert body.get("generationConfig", {}).get("thinkingConfig") == config


def test_a_reply_is_held_to_a_shape():
    shape = {"type": "object", "properties": {"why": {"type": "string"}, "answer": {"type": "boolean"}}, "required": ["answer"]}
    held = {
        "responseMimeType": "application/json",
        "responseSchema": {
            "type": "OBJECT",
            "properties": {"why": {"type": "STRING"}, "answer": {"type": "BOOLEAN"}},
            "required": ["answer"],
            "propertyOrdering": ["why", "answer"],
        },
    }
    assert sent(request(shape=shape))["generationConfig"] == held
    assert sent(request(shape=shape, tools=(ADD,)), name="gemini-3.5-flash")["generationConfig"] == held
    assert "generationConfig" not in sent(request(shape=shape, tools=(ADD,)), name="gemini-2.5-flash")


def test_further_fields_join_what_is_there():
    extra = {
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
        "generationConfig": {"topK": 5},
        "tools": [{"googleSearch": {}}],
        "toolConfig": {"includeServerSideToolInvocations": True},
        "store": False,
    }
    body = sent(request(tools=(NOW,), options=Options(temperature=0.5, tool_choice="auto", extra=extra)))
    assert body["safetySettings"] == extra["safetySettings"]
    assert body["store"] is False
    assert body["generationConfig"] == {"temperature": 0.5, "topK": 5}
    assert [*map(list, body["tools"])] == [["functionDeclarations"], ["googleSearch"]]
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}, "includeServerSideToolInvocations": True}
    assert len(body["contents"]) == 1


def test_other_tools_and_options_are_told_when_they_change():
    with WireServer(lambda _: "fine") as server:
        model = wire.model(server, "google")
        for temperature, tools in ((0.1, (ADD,)), (0.9, ()), (0.9, (NOW,))):
            ask(model, request(tools=tools, options=Options(temperature=temperature)))
    first, second, third = (one.body for one in server.requests)
    assert [body["generationConfig"]["temperature"] for body in (first, second, third)] == [0.1, 0.9, 0.9]
    assert "tools" not in second
    assert third["tools"][0]["functionDeclarations"][0]["name"] == "now"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro"),
        ("models/gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro"),
        ("tunedModels/my-own", "/v1beta/tunedModels/my-own"),
        ("a name", "/v1beta/models/a%20name"),
    ],
)
def test_where_a_model_is_asked(name, path):
    assert received(name=name).path == f"{path}:streamGenerateContent?alt=sse"
    assert received(name=name, stream=False).path == f"{path}:generateContent"


def test_headers_of_this_protocol():
    headers = received(request(options=Options(headers={"X-Trace": "7"})), headers={"x-team": "a"}).headers
    assert (headers["x-goog-api-key"], headers["x-team"], headers["x-trace"]) == ("test-key", "a", "7")


def test_the_key_goes_nowhere_but_into_its_header():
    one = received()
    assert "test-key" not in one.path
    assert "test-key" not in json.dumps(one.body)


def test_headers_may_be_made_for_each_request():
    count = 0

    async def authorize(path, body):
        nonlocal count
        count += 1
        return {"authorization": f"{count} {path} {len(body)}"}

    with WireServer(lambda _: "fine") as server:
        model = Google("wired", base_url=server.url, authorize=authorize)
        ask(model)
        ask(model)
    made = [one.headers["authorization"] for one in server.requests]
    assert [header.split()[0] for header in made] == ["1", "2"]
    assert "/v1beta/models/wired:streamGenerateContent?alt=sse" in made[0]
    assert "x-goog-api-key" not in server.requests[0].headers


def test_the_public_endpoint_needs_a_key(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "not-read")
    with pytest.raises(MissingKey, match="MY_KEY"):
        Google("gemini-2.5-pro", key_variable="MY_KEY")
    assert Google("gemini-2.5-pro", api_key="k", traits=Traits(context=1_000_000)).traits == Traits(
        context=1_000_000, modalities=frozenset(("image", "audio", "document"))
    )
    assert Google("gemini-2.5-pro", api_key="k", kind="gemini", stream=False).name == "gemini:gemini-2.5-pro"
    assert not Google("gemini-2.5-pro", api_key="k", stream=False).traits.streams


# What comes back


@pytest.mark.parametrize("stream", [True, False])
def test_a_signature_of_a_call_is_kept_with_the_call(stream):
    parts = think("Let me see.", signature="c2ln+/="), call("add", {"a": 1}, id="c1"), call("now", id="c2")
    with WireServer([reply(*parts)]) as server:
        first, second = calls_in(ask(wire.model(server, "google", stream=stream)))
    assert first == Written("c1", "add", '{"a": 1}', opaque=Opaque("google", '{"thoughtSignature":"c2ln+/="}'))
    assert second == Written("c2", "now", "{}")


@pytest.mark.parametrize("stream", [True, False])
def test_a_signature_of_words_is_kept_after_them(stream):
    with WireServer([reply(think("Hm.", signature="c2ln"), say("Four.", size=99))]) as server:
        deltas = ask(wire.model(server, "google", stream=stream))
    signed = Opaque("google", '{"thoughtSignature":"c2ln"}')
    assert deltas[:3] == [ThinkingDelta("Hm."), TextDelta("Four."), signed]
    history = Message("model", (Text("Four."), signed))
    assert sent(request("hi", history))["contents"][1]["parts"] == [{"text": "Four.", "thoughtSignature": "c2ln"}]
    alone = Message("model", (signed, Call("c1", "now", {})))
    assert sent(request("hi", alone))["contents"][1]["parts"][0] == {"text": "", "thoughtSignature": "c2ln"}


def test_a_signature_is_not_put_on_words_that_came_without_it():
    deltas = heard(
        chunk({"text": "It is "}), chunk({"text": "four.", "thoughtSignature": "c2ln"}), chunk({"text": "Or"}, finish="STOP")
    )
    signed = Opaque("google", '{"text":"","thoughtSignature":"c2ln"}')
    assert deltas[:4] == [TextDelta("It is "), TextDelta("four."), signed, TextDelta("Or")]
    history = Message("model", (Text("It is four."), signed))
    assert sent(request("hi", history))["contents"][1]["parts"] == [
        {"text": "It is four."},
        {"text": "", "thoughtSignature": "c2ln"},
    ]


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"thoughtSignature": "c2ln"}, '{"text":"","thoughtSignature":"c2ln"}'),
        ({"text": "", "thought": True, "thoughtSignature": "c2ln"}, '{"text":"","thought":true,"thoughtSignature":"c2ln"}'),
    ],
)
def test_a_signature_without_words_is_kept(part, kept):
    assert heard(chunk(part, finish="STOP"))[0] == Opaque("google", kept)


@pytest.mark.parametrize(
    "part",
    [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "c2ln"},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "args": {}}},
    ],
)
def test_parts_of_other_kinds_go_back_as_they_came(part):
    (kept, _) = heard(chunk(part, finish="STOP"))
    assert kept == Opaque("google", json.dumps(part))
    assert sent(request("hi", Message("model", (kept,))))["contents"][1]["parts"] == [part]


def test_empty_parts_are_nothing():
    assert [type(delta) for delta in heard(chunk({}, {"text": ""}, {"thought": True}), chunk(finish="STOP"))] == [ReplyEnded]


def test_calls_without_ids_get_some_and_arguments_stay_as_they_were_written():
    arguments = '{"a":1.50,"b":10000000000000000000001}'
    written = '{"functionCall":{"name":"add","args":%s}},{"functionCall":{"name":"now","args":null}},{"functionCall":{}}'
    body = '{"candidates":[{"content":{"parts":[CALLS]},"finishReason":"STOP"}]}'.replace("CALLS", written.replace("%s", arguments))
    with WireServer([raw(f"data: {body}\n\n".encode())]) as server:
        calls = calls_in(ask(wire.model(server, "google")))
    assert [one.text for one in calls] == [arguments, "{}", "{}"]
    assert [one.name for one in calls] == ["add", "now", ""]
    assert len({one.id for one in calls}) == 3


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "done"),
        ("SOMETHING_NEWER", "done"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("PROHIBITED_CONTENT", "filtered"),
        ("BLOCKLIST", "filtered"),
        ("SPII", "filtered"),
    ],
)
def test_finish_reasons(reason, finish):
    assert heard(chunk({"text": "hi"}, finish=reason))[-1].finish == finish


@pytest.mark.parametrize("stream", [True, False])
def test_a_blocked_prompt_ends_as_filtered(stream):
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 5}}
    answer = events(blocked, done=False) if stream else raw(json.dumps(blocked).encode(), content_type="application/json")
    with WireServer([answer]) as server:
        assert ask(wire.model(server, "google", stream=stream)) == [
            ReplyEnded("filtered", Usage(requests=1, input_tokens=5), "google:wired")
        ]


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_call_that_the_server_could_not_read_may_be_asked_for_again(reason, stream):
    one = {**chunk(finish=reason, finishMessage="Malformed function call: add(("), "usageMetadata": {"promptTokenCount": 9}}
    error = failure(events(one, done=False) if stream else raw(json.dumps(one).encode(), content_type="application/json"))
    assert type(error) is ReplyBroken
    assert error.retryable
    assert reason in str(error)
    assert "add((" in str(error)
    assert error.usage == Usage(requests=1, input_tokens=9)


def test_all_tokens_are_counted():
    counts = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 7,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 80,
        "totalTokenCount": 157,
    }
    first = {**chunk({"text": "hi"}), "usageMetadata": {"promptTokenCount": 100}}
    assert heard(first, {**chunk(finish="STOP"), "usageMetadata": counts})[-1].usage == Usage(
        requests=1, input_tokens=107, output_tokens=50, cache_read_tokens=80
    )


def test_what_a_broken_reply_has_used_is_told():
    error = failure(reply(say("hello"), break_off()))
    assert error.usage == Usage(requests=1, input_tokens=100, output_tokens=20)


def test_words_after_the_reason_to_stop_still_count():
    deltas = heard(chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}, finish="STOP"))
    assert text_in(deltas) == "ab"


def test_the_other_form_of_a_stream_is_read_too():
    chunks = [chunk({"text": "a"}), chunk({"text": "b"}, finish="STOP")]
    with WireServer([raw(json.dumps(chunks).encode(), content_type="application/json")]) as server:
        deltas = ask(wire.model(server, "google"))
    assert (text_in(deltas), deltas[-1].finish) == ("ab", "done")


def test_the_end_of_another_wire_is_an_end_too():
    with WireServer([events(chunk({"text": "hi"}), done=True)]) as server:
        deltas = ask(wire.model(server, "google"))
    assert (text_in(deltas), deltas[-1].finish) == ("hi", "done")


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"candidates": []}', b"nonsense", b'{"candidates":[{"content":{"parts":[1]}}]}'])
def test_what_is_no_reply_is_broken(body):
    assert type(failure(raw(body, content_type="application/json"), stream=False)) is ReplyBroken


@pytest.mark.parametrize("payload", ["nonsense", "[]", '{"candidates": 3}', '{"candidates":[{"content":{"parts":[{"text":3}]}}]}'])
def test_a_piece_of_a_stream_that_is_none_is_broken(payload):
    assert type(failure(events(payload, done=False))) is ReplyBroken


# Refusals


def test_an_error_inside_of_a_stream():
    error = failure(events(chunk({"text": "hm"}), {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}))
    assert type(error) is ModelUnavailable
    assert error.status == 503


@pytest.mark.parametrize("listed", [False, True])
def test_how_long_to_wait_stands_among_the_details(listed):
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "PerMinute"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"},
    ]
    body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}}
    error = failure(refuse(429, body=json.dumps([body] if listed else body).encode()))
    assert type(error) is ModelUnavailable
    assert error.retry_after == 17.5


@pytest.mark.parametrize("delay", ["", "soon", 3, None])
def test_a_wait_that_is_no_time_is_none(delay):
    error = failure(refuse(429, body=json.dumps({"error": {"code": 429, "details": [{"retryDelay": delay}]}}).encode()))
    assert error.retry_after is None


@pytest.mark.parametrize("listed", [False, True])
def test_too_long_a_conversation(listed):
    message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    body = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    assert type(failure(refuse(400, body=json.dumps([body] if listed else body).encode()))) is ContextTooLong


def test_a_wrong_key_says_which_one_to_check():
    error = failure(refuse(400, "API key not valid. Please pass a valid API key."))
    assert type(error) is ModelRefused
    assert "check GEMINI_API_KEY" in str(error)
    assert error.status == 400


# The whole way


def run_with_tool(model):
    @tool(effect="read")
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return Agent(model, tools=[add], policy=[allow("*")]).run_sync("Add 1 and 2.")


@pytest.mark.parametrize("stream", [True, False])
def test_a_run_sends_signatures_back(stream):
    replies = [
        reply(think("Easy.", signature="Zmlyc3Q="), call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4})),
        reply(think("Done.", signature="c2Vjb25k"), "Three and seven."),
    ]
    with WireServer(replies) as server:
        result = run_with_tool(wire.model(server, "google", name="gemini-3-pro-preview", stream=stream))
    _, model, tools = server.requests[1].body["contents"]
    assert result.output == "Three and seven."
    assert [part.get("thoughtSignature") for part in model["parts"]] == ["Zmlyc3Q=", None]
    assert [part["functionResponse"]["response"] for part in tools["parts"]] == [{"output": "3"}, {"output": "7"}]
    assert [part["functionCall"]["id"] for part in model["parts"]] == [part["functionResponse"]["id"] for part in tools["parts"]]


def test_a_run_asks_again_after_a_malformed_call():
    with WireServer(
        [events(chunk(finish="MALFORMED_FUNCTION_CALL"), done=False), call("add", {"a": 1, "b": 2}), "Three."]
    ) as server:
        assert run_with_tool(wire.model(server, "google")).output == "Three."


# Google's own client


def rich_request(**fields):
    signed = Message("model", (Text("Four."), Opaque("google", '{"text":"","thoughtSignature":"c2ln"}')))
    options = Options(temperature=0.5, max_tokens=9, top_p=0.9, seed=7, stop=("END",), reasoning="low", tool_choice="required")
    return request(*ROUND, "And 2 and 2?", signed, "Thanks.", tools=(ADD, NOW), options=options, **fields)


@pytest.mark.parametrize("name", ["gemini-2.5-flash", "gemini-3.5-flash"])
def test_googles_types_accept_what_is_sent(genai, name):
    body = sent(
        rich_request(note="Hurry.", shape={"type": "object", "properties": {"a": {"type": ["integer", "null"]}}}), name=name
    )
    kinds = {
        "systemInstruction": genai.types.Content,
        "generationConfig": genai.types.GenerationConfig,
        "toolConfig": genai.types.ToolConfig,
    }
    for field, kind in kinds.items():
        kind.model_validate_json(json.dumps(body.pop(field)))
    for content in body.pop("contents"):
        genai.types.Content.model_validate_json(json.dumps(content))
    for declared in body.pop("tools"):
        genai.types.Tool.model_validate_json(json.dumps(declared))
    assert body == {}


def test_googles_types_refuse_what_is_not_theirs(genai):
    with pytest.raises(ValueError, match="Extra inputs"):
        genai.types.Content.model_validate_json('{"role": "user", "parts": [{"function_call": {"argument": 1}}]}')


def client_of(genai, server):
    return genai.Client(api_key="test-key", http_options={"base_url": server.url, "api_version": "v1beta"})


def test_googles_client_sends_the_same(genai):
    """The same conversation, put together with Google's types, is the same request."""
    ours = received(rich_request(), name="gemini-3.5-flash", stream=False)
    types = genai.types
    contents = [types.Content.model_validate_json(json.dumps(content)) for content in ours.body["contents"]]
    declared = [
        types.FunctionDeclaration(name="add", description="Add two numbers.", parameters=types.Schema(**ADD_PARAMETERS)),
        types.FunctionDeclaration(name="now", description="The time."),
    ]
    config = types.GenerateContentConfig(
        system_instruction=types.Content(parts=[types.Part(text="Be brief.")]),
        temperature=0.5,
        max_output_tokens=9,
        top_p=0.9,
        seed=7,
        stop_sequences=["END"],
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="LOW"),
        tools=[types.Tool(function_declarations=declared)],
        tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY")),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    with WireServer(["fine"]) as server, client_of(genai, server) as client:
        client.models.generate_content(model="gemini-3.5-flash", contents=contents, config=config)
    theirs = server.requests[0]
    assert theirs.path == ours.path
    assert theirs.headers["x-goog-api-key"] == ours.headers["x-goog-api-key"]
    # Of some fields, their client sends the Python names, which Google's servers take as well.
    configs = [types.GenerationConfig.model_validate_json(json.dumps(one.body.pop("generationConfig"))) for one in (theirs, ours)]
    assert configs[0] == configs[1]
    assert theirs.body == ours.body


def test_googles_client_reads_the_server_of_these_tests(genai):
    parts = think("Let me see.", signature="c2ln"), call("add", {"a": 1, "b": "x"}, id="c1"), call("now")
    script = [reply(*parts), reply(*parts), refuse(429, "slow down")]
    with WireServer(script) as server, client_of(genai, server) as client:
        models = client.models
        whole = models.generate_content(model="wired", contents="hi")
        chunks = list(models.generate_content_stream(model="wired", contents="hi"))
        with pytest.raises(genai.errors.ClientError, match="slow down") as refused:
            models.generate_content(model="wired", contents="hi")
    assert refused.value.status == "RESOURCE_EXHAUSTED"
    streamed = [part for chunk in chunks for part in chunk.parts or ()]
    for found in (whole.parts, [part for part in streamed if part.text != ""]):
        thought = "".join(part.text for part in found if part.thought)
        first, second = (part for part in found if part.function_call)
        assert thought == "Let me see."
        assert (first.function_call.id, first.function_call.args, first.thought_signature) == ("c1", {"a": 1, "b": "x"}, b"sig")
        assert (second.function_call.name, second.thought_signature) == ("now", None)
    for last in (whole, chunks[-1]):
        assert last.candidates[0].finish_reason == "STOP"
        assert (last.usage_metadata.prompt_token_count, last.usage_metadata.candidates_token_count) == (100, 20)


def test_what_googles_client_hears_is_what_we_hear(genai):
    with WireServer(lambda _: reply("Good morning, ☀ everyone.")) as server, client_of(genai, server) as client:
        chunks = client.models.generate_content_stream(model="wired", contents="hi")
        theirs = [chunk.text for chunk in chunks if chunk.text]
        ours = [delta.text for delta in ask(wire.model(server, "google")) if isinstance(delta, TextDelta)]
    assert ours == theirs


def test_a_call_is_done_once():
    deltas = heard(chunk({"functionCall": {"name": "now", "args": {}}}), chunk(finish="STOP"))
    assert len([delta for delta in deltas if isinstance(delta, CallDone)]) == 1
