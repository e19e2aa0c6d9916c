# ruff: noqa: E501 - servers speak at length
"""Requests that repair themselves: what servers refuse, in their own words, and what is sent instead."""

import json

import pytest

import wire
from treadle.core.errors import ModelRefused, ReplyBroken, ToolsRefused, WrongWire
from treadle.core.requests import Notice, Options, Usage
from treadle.models.diagnosis import diagnose_refusal, find_token_limit
from treadle.models.factory import ProviderConnection, make_model
from treadle.models.repairs import Repair, RepairMemory, repair_memory
from treadle.models.request_changes import apply_repairs
from wire import ADD, WireServer, ask, break_off, hear, refuse, reply, request, say, text_in

CHAT = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    "tools": [{"type": "function", "function": {"name": "add", "description": "Add.", "parameters": {}}}],
    "temperature": 0.1,
    "top_p": 0.9,
    "max_tokens": 100_000,
    "max_completion_tokens": 100_000,
    "seed": 7,
    "stop": ["END"],
    "stream": True,
    "stream_options": {"include_usage": True},
    "parallel_tool_calls": True,
    "tool_choice": "required",
    "reasoning_effort": "minimal",
    "service_tier": "flex",
    "prompt_cache_key": "k",
    "response_format": {"type": "json_schema"},
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "generationConfig": {"topK": 5, "thinkingConfig": {"thinkingLevel": "low"}, "maxOutputTokens": 100_000},
    "reasoning": {"effort": "low", "summary": "auto"},
    "inferenceConfig": {"temperature": 0.1, "topP": 0.9},
}
LOC = {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 7}]}

# Refusals in providers' own words, and what repairs each.
CASES = [
    ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", Repair("rename", "max_tokens", "max_completion_tokens")),
    ("Unsupported value: 'temperature' does not support 0.1 with this model. Only the default (1) value is supported.", Repair("drop", "temperature")),
    ("Unsupported parameter: 'temperature' is not supported with this model.", Repair("drop", "temperature")),
    ("Unsupported parameter: 'top_p' is not supported with this model.", Repair("drop", "top_p")),
    ("`temperature` is deprecated for this model.", Repair("drop", "temperature")),
    ("temperature and top_p cannot both be specified for this model. Please use only one.", Repair("drop", "top_p")),
    ("Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", Repair("drop", "parallel_tool_calls")),
    ("Unrecognized request argument supplied: prompt_cache_key", Repair("drop", "prompt_cache_key")),
    ("Unknown parameter: 'reasoning.summary'.", Repair("drop", "reasoning.summary")),
    ("property 'stream_options' is unsupported", Repair("drop", "stream_options")),
    ("seed: Extra inputs are not permitted", Repair("drop", "seed")),
    (LOC, Repair("drop", "seed")),
    ("Unsupported parameter: 'stop' is not supported with this model.", Repair("drop", "stop")),
    ("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5", Repair("set", "max_tokens", 64_000)),
    ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.", Repair("set", "max_tokens", 16_384)),
    ("`max_completion_tokens` must be less than or equal to `32768`, the maximum value for this model", Repair("set", "max_completion_tokens", 32_768)),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", Repair("set", "max_tokens", 8_192)),
    ("Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).", Repair("set", "generationConfig.maxOutputTokens", 65_537)),
    ("Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.", Repair("set", "reasoning_effort", "medium")),
    ("reasoning_effort is not supported with this model", Repair("drop", "reasoning_effort")),
    ("System role not supported", Repair("no_system")),
    ("Developer instruction is not enabled for models/gemma-3-27b-it", Repair("no_system")),
    ("This model does not support the system role", Repair("no_system")),
    ("Only user and assistant roles are supported!", Repair("no_system")),
    ("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", Repair("short_ids")),
    ("Invalid 'messages[10].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 53 instead.", Repair("short_ids")),
    ("Invalid 'messages[2].tool_call_id': string too long. Expected a string with maximum length 40, but got a string with length 53 instead.", Repair("short_ids")),
    ("Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1103 instead.", Repair("shorten", "tools.*.function.description", 1024)),
    ("Unexpected role 'user' after role 'tool'", Repair("between")),
    ("The `reasoning_content` in the thinking mode must be passed back to the API.", Repair("reasoning")),
    ("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", Repair("reasoning")),
    ("Your organization must be verified to stream this model. Please go to the settings.", Repair("no_stream")),
    ("This model does not support streaming", Repair("no_stream")),
    ("messages[2].content cannot be null", Repair("content")),
    ("A maximum of 4 blocks with cache_control may be provided. Found 5.", Repair("drop", "**.cache_control")),
    ('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.', Repair("set", "thinking", {"type": "adaptive"})),
    ("`max_tokens` must be greater than `thinking.budget_tokens`.", Repair("drop", "thinking")),
    ("Thinking mode does not support this tool_choice", Repair("drop", "tool_choice")),
    ("tool_choice: only 'auto' is supported by this server, without --enable-auto-tool-choice", Repair("drop", "tool_choice")),
    ("This response_format type is unavailable now", Repair("drop", "response_format")),
    ("This model does not support structured output.", Repair("drop", "response_format")),
    ('Invalid JSON payload received. Unknown name "topK" at \'generation_config\': Cannot find field.', Repair("drop", "generationConfig.topK")),
    ("The model returned the following errors: extraneous key [topP] is not permitted: `temperature` and `top_p` cannot both be specified", Repair("drop", "top_p")),
    ({"error": {"message": "Invalid service_tier argument", "param": "service_tier", "code": "invalid_value"}}, Repair("drop", "service_tier")),
    ("Additional properties are not allowed ('parallel_tool_calls' was unexpected)", Repair("drop", "parallel_tool_calls")),
]  # fmt: skip


def words_of(said):
    return said if isinstance(said, str) else ""


@pytest.mark.parametrize(("said", "repair"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_a_refusal_is_read(said, repair):
    assert diagnose_refusal(words_of(said), said, json.dumps(CHAT).encode()) == repair


def test_there_are_forty_of_them():
    assert len(CASES) >= 40


@pytest.mark.parametrize(
    "said",
    [
        "The model `gpt-9` does not exist or you do not have access to it.",
        "Incorrect API key provided: sk-1234.",
        "You exceeded your current quota, please check your plan and billing details.",
        "Invalid 'messages[0].content': string too long.",
        "Invalid schema for function 'add': None is not of type 'object', 'boolean'.",
        "messages: at least one message is required",
        "model is required",
        "",
    ],
)
def test_what_no_change_would_help_stays_a_refusal(said):
    assert diagnose_refusal(said, {"error": {"message": said, "param": "messages"}}, json.dumps(CHAT).encode()) is None


def test_what_was_not_sent_is_not_dropped():
    assert diagnose_refusal("Unsupported parameter: 'logit_bias' is not supported.", None, json.dumps(CHAT).encode()) is None
    assert diagnose_refusal("Unsupported parameter: 'seed' is not supported.", None, b"no JSON") is None


# what is sent instead


def test_bodies_are_changed_as_the_repair_says():
    body = json.dumps(CHAT).encode()

    def after(*repairs):
        return json.loads(apply_repairs(body, repairs))

    assert apply_repairs(body, ()) is body
    assert "temperature" not in after(Repair("drop", "temperature"))
    assert after(Repair("drop", "generationConfig.topK"))["generationConfig"]["maxOutputTokens"] == 100_000
    assert "topK" not in after(Repair("drop", "generationConfig.topK"))["generationConfig"]
    assert after(Repair("rename", "max_tokens", "limit"))["limit"] == 100_000
    assert after(Repair("set", "max_tokens", 500))["max_tokens"] == 500
    assert after(Repair("set", "max_tokens", 200_000))["max_tokens"] == 100_000  # a limit is never raised
    assert after(Repair("no_system"))["messages"] == [{"role": "user", "content": "Be brief.\n\nHi"}]
    assert (after(Repair("no_stream"))["stream"], "stream_options" in after(Repair("no_stream"))) == (False, False)
    assert after(Repair("drop", "nothing.of.that")) == CHAT


def test_messages_are_changed_as_the_repair_says():
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "function": {}}], "cache_control": {}},
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
        {"role": "user", "content": "Go on."},
    ]
    repairs = [Repair("short_ids"), Repair("between"), Repair("reasoning"), Repair("content"), Repair("drop", "**.cache_control")]
    changed = json.loads(apply_repairs(json.dumps({"messages": messages}).encode(), repairs))["messages"]
    assert [message["role"] for message in changed] == ["assistant", "tool", "assistant", "user"]
    assert changed[0]["content"] == changed[0]["reasoning_content"] == ""
    assert changed[0]["tool_calls"][0]["id"] == changed[1]["tool_call_id"]
    assert len(changed[1]["tool_call_id"]) == 9
    assert "cache_control" not in changed[0]


@pytest.fixture(autouse=True)
def fresh():
    repair_memory.all().clear()
    yield
    repair_memory.all().clear()


def asked(server, **options):
    model = make_model("groq", "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k"), {})
    return ask(model, request(options=Options(**options)))


def refusal(words, status=400):
    return refuse(status, words)


def test_a_refused_request_is_sent_again_without_what_was_refused_and_the_next_one_at_once():
    refused = refusal("Unsupported value: 'temperature' does not support 0 with this model.")
    with WireServer([refused, "fine", "fine again"]) as server:
        deltas = asked(server, temperature=0.0, seed=1)
        assert text_in(deltas) == "fine"
        (notice,) = [delta for delta in deltas if isinstance(delta, Notice)]
        assert notice.text.endswith("refused the request as it was: temperature isn't sent from now on.")
        again = asked(server, temperature=0.0, seed=1)
        assert not any(isinstance(delta, Notice) for delta in again)
    assert [("temperature" in each.body, each.body["seed"]) for each in server.requests] == [(True, 1), (False, 1), (False, 1)]


def test_a_repair_is_announced_although_the_reply_breaks():
    refused = refusal("Unsupported value: 'temperature' does not support 0 with this model.")
    with WireServer([refused, reply(say("fine"), break_off())]) as server:
        model = wire.model(server, "openai", stream=False)
        deltas, error = hear(model, request(options=Options(temperature=0.0)))
    assert [type(delta) for delta in deltas] == [Notice]
    assert isinstance(error, ReplyBroken)
    assert error.usage == Usage(requests=1)


def test_several_repairs_may_be_needed():
    first, second = refusal("Unrecognized request argument supplied: seed"), refusal("property 'stream_options' is unsupported")
    with WireServer([first, second, "fine"]) as server:
        assert text_in(asked(server, seed=1)) == "fine"
    assert not {"seed", "stream_options"} & set(server.requests[-1].body)


def test_a_server_that_is_never_pleased_is_not_asked_for_ever():
    words = [f"Unknown parameter: '{name}'" for name in ("seed", "stop", "temperature", "top_p", "max_tokens", "stream_options")]
    with WireServer([refusal(each) for each in words] + ["never"]) as server:
        model = make_model("groq", "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k"), {})
        options = Options(seed=1, stop=("x",), temperature=0.5, top_p=0.5, max_tokens=5)
        deltas, error = hear(model, request(options=options))
    assert deltas == []
    assert isinstance(error, ModelRefused)
    assert len(server.requests) == 6


def test_the_same_refusal_twice_is_the_end():
    words = refusal("Unknown parameter: 'seed'")
    with WireServer([words, words, "never"]) as server:
        _, error = hear(
            make_model("groq", "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k"), {}),
            request(options=Options(seed=1)),
        )
    assert isinstance(error, ModelRefused)
    assert len(server.requests) == 2


def test_repairs_that_did_not_help_are_not_kept():
    repair_memory.add("groq:m", "elsewhere", Repair("no_system"))
    with WireServer([refusal("Unknown parameter: 'seed'"), refusal("Your request is malformed."), "fine"]) as server:
        _, error = hear(
            make_model("groq", "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k"), {}),
            request(options=Options(seed=1)),
        )
        assert isinstance(error, ModelRefused)
        assert asked(server, seed=1)
    assert [each.body.get("seed") for each in server.requests] == [1, None, 1]
    assert list(repair_memory.all().values()) == [(Repair("no_system"),)]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. Please use /v1/responses instead.", WrongWire),
        ("This model is only supported in v1/responses and not in v1/chat/completions.", WrongWire),
        ("registry.ollama.ai/library/gemma:2b does not support tools", ToolsRefused),
    ],
)  # fmt: skip
def test_what_another_wire_or_text_would_solve_is_told_apart(words, kind):
    with WireServer([refusal(words)]) as server:
        _, error = hear(
            make_model("groq", "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k"), {}), request(tools=(ADD,))
        )
    assert type(error) is kind


@pytest.mark.parametrize(
    ("name", "path", "whole"),
    [("bedrock", "/converse-stream", "/converse"), ("google", ":streamGenerateContent?alt=sse", ":generateContent")],
)
def test_a_server_that_does_not_stream_is_asked_for_the_response_in_one(name, path, whole):
    refused = refusal("This model doesn't support tool use in streaming mode.")
    with WireServer([refused, "fine", "fine again"]) as server:
        model = wire.model(server, name, stream=True)
        assert text_in(ask(model, request(tools=(ADD,)))) == "fine"
        assert text_in(ask(model, request(tools=(ADD,)))) == "fine again"
    first, *rest = server.requests
    assert first.path.endswith(path)
    assert all(each.path.endswith(whole) and each.body == first.body for each in rest)


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "google", "bedrock"])
def test_instructions_go_with_the_first_message_on_every_wire(name):
    refused = refusal("This model doesn't support system messages. Try again without a system message.")
    with WireServer([refused, "fine"]) as server:
        assert text_in(ask(wire.model(server, name, stream=False), request("hello"))) == "fine"
    body = server.requests[1].body
    assert not {"system", "systemInstruction", "instructions"} & set(body)
    (message,) = next(body[field] for field in ("messages", "contents", "input") if field in body)
    assert message["role"] == "user"
    assert "Be brief." in json.dumps(message)
    assert "hello" in json.dumps(message)


def test_fewer_tokens_are_asked_for_where_there_is_room_and_only_this_time():
    words = "This model's maximum context length is 4097 tokens. However, you requested 4137 tokens (137 in the messages, 4000 in the completion)."
    with WireServer([refusal(words), "fine", "fine again"]) as server:
        deltas = asked(server, max_tokens=4000)
        assert text_in(deltas) == "fine"
        (notice,) = [delta for delta in deltas if isinstance(delta, Notice)]
        assert notice.text.endswith("max_tokens is sent as 3960 this time.")
        asked(server, max_tokens=4000)
    assert [each.body["max_tokens"] for each in server.requests] == [4000, 3960, 4000]


@pytest.mark.parametrize(
    ("words", "room"),
    [
        ("This model's maximum context length is 4096 tokens and your request has 1096 input tokens (4000 > 4096 - 1096).", 3000),
        ("input length and `max_tokens` exceed context limit: 1097 + 4000 > 4096, decrease input length or `max_tokens`", 2999),
        ("maximum context length is 4097 tokens. However, you requested 8000 tokens (4000 in the messages, 4000 in the completion)", None),
        ("This model's maximum context length is 4097 tokens. However, your messages resulted in 7575 tokens.", None),
    ],
)  # fmt: skip
def test_room_is_found_where_enough_is_left_for_a_reply(words, room):
    repair = find_token_limit(words, b'{"max_tokens": 4000}')
    assert (repair and repair.value) == room
    assert find_token_limit(words, b'{"messages": []}') is None


@pytest.mark.parametrize(
    ("words", "param"),
    [
        ("Invalid image: unsupported format.", "messages[0].content[1].image_url"),
        ("Invalid value for 'content': expected a string, got null.", "messages.[0].role"),
        ("Invalid 'tools[0].function.name': string does not match pattern.", "tools[0].function.name"),
        ("Unknown parameter: 'messages[0].content'.", "messages[0].content"),
        ("image_url is not supported by this model", None),
        ("Unsupported parameter: 'type' is not supported.", "tools[0].function.parameters.properties.a.type"),
    ],
)
def test_what_a_message_or_a_tool_cannot_do_without_is_never_left_out(words, param):
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    sent = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, picture]}],
        "tools": [{"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"type": "string"}}}}}],
    }
    assert diagnose_refusal(words, {"error": {"message": words, "param": param}}, json.dumps(sent).encode()) is None


def test_a_property_may_be_called_like_a_keyword_that_is_refused():
    schema = {"type": "object", "properties": {"format": {"type": "string", "format": "uri"}}}
    sent = {"tools": [{"type": "function", "function": {"name": "add", "parameters": schema}}]}
    repair = diagnose_refusal(
        "Unknown parameter: 'tools[0].function.parameters.properties.format.format'", None, json.dumps(sent).encode()
    )
    (tool,) = json.loads(apply_repairs(json.dumps(sent).encode(), [repair]))["tools"]
    assert tool["function"]["parameters"] == {"type": "object", "properties": {"format": {"type": "string"}}}


# what is remembered


def test_what_was_learnt_is_kept_by_model_and_address_and_can_be_forgotten():
    kept = {}
    one = RepairMemory()
    one.load, one.save = lambda: dict(kept), kept.update
    one.add("groq:a", "http://x", Repair("drop", "seed"))
    one.add("groq:a", "http://x", Repair("no_system"))
    other = RepairMemory()
    other.load = lambda: dict(kept)
    assert other.of("groq:a", "http://x") == (Repair("drop", "seed"), Repair("no_system"))
    assert other.of("groq:a", "http://y") == other.of("groq:b", "http://x") == ()
    assert (other.forget("groq:a"), other.forget("groq:a")) == (True, False)
    assert other.of("groq:a", "http://x") == ()


def test_only_descriptions_that_are_too_long_are_cut():
    tools = [
        {"type": "function", "function": {"name": name, "description": "d" * length}} for name, length in (("a", 1_103), ("b", 9))
    ]
    changed = json.loads(
        apply_repairs(json.dumps({"tools": tools}).encode(), [Repair("shorten", "tools.*.function.description", 1_024)])
    )
    assert [len(each["function"]["description"]) for each in changed["tools"]] == [1_024, 9]


def test_a_prompt_that_is_too_long_is_not_cut():
    words = (
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10, but got a string with length 11."
    )
    assert diagnose_refusal(words, {}, json.dumps(CHAT).encode()) is None
