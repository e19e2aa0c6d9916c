"""The mocks are faithful: the providers' own SDKs can use them, and what a provider refuses, its mock refuses."""

import copy
import json
from contextlib import closing
from typing import Any

import pytest

from providers.cases.anthropic import HIDDEN, THOUGHT
from providers.cases.common import PARIS, ask, sunny
from providers.cases.responses import THOUGHT as REASONING
from providers.oracles import is_installed, loaded, missing
from providers.script import Fail, reply
from providers.servers import SERVERS
from providers.servers.base import KEY, REGION, SECRET_KEY, Session
from providers.servers.http import Request, serve
from providers.servers.mock import Mock

PROMPT = "What is the weather in Paris?"
ANSWERS = (reply("I look.", ask(PARIS)), sunny())


def mock_of(at, *answers):
    return Mock(SERVERS[at].wires(), Session([(PROMPT, answer) for answer in answers]))


@pytest.mark.parametrize("package", ["openai", "anthropic", "mistralai", "google.genai", "botocore"])
def test_the_packages_that_requests_are_checked_by_are_here(package):
    if not is_installed(package):
        pytest.skip(f"{package} isn't installed, so its wire's requests aren't checked")


# The SDKs use the mocks


CHAT_TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.mark.parametrize("streams", [False, True])
def test_openai_s_sdk_talks_to_the_chat_server(streams):
    openai = pytest.importorskip("openai")
    mock = mock_of("gpt-4o", *ANSWERS)
    with serve(mock) as url, openai.OpenAI(base_url=f"{url}/v1", api_key=KEY) as client:

        def say(messages):
            if not streams:
                return client.chat.completions.create(model="gpt-4o", messages=messages, tools=[CHAT_TOOL])
            with client.chat.completions.stream(
                model="gpt-4o", messages=messages, tools=[CHAT_TOOL], stream_options={"include_usage": True}
            ) as stream:
                return stream.get_final_completion()

        messages = [{"role": "user", "content": PROMPT}]
        first = say(messages)
        message = first.choices[0].message
        assert (message.content, first.choices[0].finish_reason, first.usage.total_tokens) == ("I look.", "tool_calls", 120)
        call = message.tool_calls[0]
        assert json.loads(call.function.arguments) == {"city": "Paris"}
        asked = {"id": call.id, "type": "function", "function": {"name": "weather", "arguments": call.function.arguments}}
        messages.append({"role": "assistant", "content": "I look.", "tool_calls": [asked]})
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "Paris: 21 degrees"})
        assert say(messages).choices[0].message.content == "It is 21 degrees."
    assert not mock.session.violations
    assert not mock.session.repairs


@pytest.mark.parametrize("streams", [False, True])
def test_mistral_s_sdk_talks_to_the_mistral_server(streams):
    client_module = pytest.importorskip("mistralai.client")
    mock = mock_of("mistral", *ANSWERS)
    with serve(mock) as url, client_module.Mistral(api_key=KEY, server_url=url) as client:

        def say(messages):
            if not streams:
                message = (
                    client.chat.complete(model="mistral-large-latest", messages=messages, tools=[CHAT_TOOL]).choices[0].message
                )
                return message.content, message.tool_calls or []
            deltas = [
                event.data.choices[0].delta
                for event in client.chat.stream(model="mistral-large-latest", messages=messages, tools=[CHAT_TOOL])
                if event.data.choices
            ]
            return "".join(delta.content or "" for delta in deltas), [call for delta in deltas for call in delta.tool_calls or ()]

        messages = [{"role": "user", "content": PROMPT}]
        text, calls = say(messages)
        assert (text, calls[0].function.name, json.loads(calls[0].function.arguments)) == ("I look.", "weather", {"city": "Paris"})
        asked = {"id": calls[0].id, "function": {"name": "weather", "arguments": calls[0].function.arguments}}
        messages.append({"role": "assistant", "content": "I look.", "tool_calls": [asked]})
        messages.append({"role": "tool", "tool_call_id": calls[0].id, "name": "weather", "content": "Paris: 21 degrees"})
        assert say(messages)[0] == "It is 21 degrees."
    assert not mock.session.violations
    assert not mock.session.repairs


CLAUDE_TOOL = {"name": "weather", "description": "The weather.", "input_schema": CHAT_TOOL["function"]["parameters"]}


@pytest.mark.parametrize("streams", [False, True])
def test_anthropic_s_sdk_talks_to_the_messages_server(streams):
    anthropic = pytest.importorskip("anthropic")
    mock = mock_of("claude", reply(THOUGHT, HIDDEN, "I look.", ask(PARIS)), sunny())
    with serve(mock) as url, anthropic.Anthropic(base_url=url, api_key=KEY) as client:

        def say(messages):
            how = {"model": "claude-opus-5-5", "max_tokens": 1000, "messages": messages, "tools": [CLAUDE_TOOL]}
            if not streams:
                return client.messages.create(**how)
            with client.messages.stream(**how) as stream:
                return stream.get_final_message()

        messages = [{"role": "user", "content": PROMPT}]
        first = say(messages)
        assert [block.type for block in first.content] == ["thinking", "redacted_thinking", "text", "tool_use"]
        assert (first.content[-1].input, first.stop_reason, first.usage.output_tokens) == ({"city": "Paris"}, "tool_use", 20)
        messages.append(first.to_param())
        result = {"type": "tool_result", "tool_use_id": first.content[-1].id, "content": "Paris: 21 degrees"}
        messages.append({"role": "user", "content": [result]})
        assert say(messages).content[0].text == "It is 21 degrees."
    assert not mock.session.violations
    assert not mock.session.repairs


RESPONSES_TOOL = {"type": "function", "strict": False, **CHAT_TOOL["function"]}


@pytest.mark.parametrize("streams", [False, True])
def test_openai_s_sdk_talks_to_the_responses_server(streams):
    openai = pytest.importorskip("openai")
    mock = mock_of("no-retention", reply(REASONING, "I look.", ask(PARIS)), sunny())
    with serve(mock) as url, openai.OpenAI(base_url=f"{url}/v1", api_key=KEY) as client:

        def say(items):
            if not streams:
                return client.responses.create(model="gpt-6-sol", input=items, tools=[RESPONSES_TOOL], store=False)
            with client.responses.stream(model="gpt-6-sol", input=items, tools=[RESPONSES_TOOL], store=False) as stream:
                return stream.get_final_response()

        items = [{"role": "user", "content": PROMPT}]
        first = say(items)
        assert [item.type for item in first.output] == ["reasoning", "message", "function_call"]
        call = first.output[-1]
        assert (json.loads(call.arguments), first.output_text, first.usage.total_tokens) == ({"city": "Paris"}, "I look.", 120)
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
        for item in items:
            for part in item["content"] if isinstance(item.get("content"), list) else ():
                part.pop("parsed", None)
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": "Paris: 21 degrees"})
        assert say(items).output_text == "It is 21 degrees."
    assert not mock.session.violations
    assert not mock.session.repairs


GEMINI_FUNCTION = {"name": "weather", "description": "The weather.", "parametersJsonSchema": CHAT_TOOL["function"]["parameters"]}


@pytest.mark.parametrize("streams", [False, True])
def test_google_s_sdk_talks_to_the_gemini_server(streams):
    genai = pytest.importorskip("google.genai")
    kinds = genai.types
    mock = mock_of("gemini", *ANSWERS)
    function = kinds.FunctionDeclaration(name="weather", parameters_json_schema=CHAT_TOOL["function"]["parameters"])
    config = kinds.GenerateContentConfig(tools=[kinds.Tool(function_declarations=[function])])
    with serve(mock) as url, genai.Client(api_key=KEY, http_options={"base_url": url}) as client:

        def say(contents):
            how = {"model": "gemini-3-pro-preview", "contents": contents, "config": config}
            if not streams:
                return client.models.generate_content(**how).candidates[0].content.parts
            chunks = list(client.models.generate_content_stream(**how))
            return [
                part
                for chunk in chunks
                for part in (chunk.candidates[0].content.parts if chunk.candidates[0].content else None) or ()
            ]

        contents = [kinds.Content(role="user", parts=[kinds.Part(text=PROMPT)])]
        parts = say(contents)
        call = parts[-1].function_call
        assert ("".join(part.text or "" for part in parts), call.name, call.args) == ("I look.", "weather", {"city": "Paris"})
        contents.append(kinds.Content(role="model", parts=parts))
        response = kinds.FunctionResponse(id=call.id, name="weather", response={"result": "Paris: 21 degrees"})
        contents.append(kinds.Content(role="user", parts=[kinds.Part(function_response=response)]))
        assert "".join(part.text or "" for part in say(contents)) == "It is 21 degrees."
    assert not mock.session.violations
    assert not mock.session.repairs


CONVERSE_TOOL = {
    "toolSpec": {"name": "weather", "description": "The weather.", "inputSchema": {"json": CHAT_TOOL["function"]["parameters"]}}
}
NOVA = "us.amazon.nova-pro-v1:0"


def bedrock_client(url, secret=SECRET_KEY):
    session = pytest.importorskip("botocore.session").get_session()
    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": secret}
    return session.create_client("bedrock-runtime", region_name=REGION, endpoint_url=url, **keys)


@pytest.mark.parametrize("streams", [False, True])
def test_amazon_s_sdk_talks_to_the_converse_server(streams):
    pytest.importorskip("botocore")
    mock = mock_of("nova", *ANSWERS)
    with serve(mock) as url, closing(bedrock_client(url)) as client:

        def say(messages):
            how = {"modelId": NOVA, "messages": messages, "toolConfig": {"tools": [CONVERSE_TOOL]}}
            if not streams:
                return client.converse(**how)["output"]["message"]["content"]
            return joined(client.converse_stream(**how)["stream"])

        messages = [{"role": "user", "content": [{"text": PROMPT}]}]
        content = say(messages)
        use = content[-1]["toolUse"]
        assert (content[0]["text"], use["name"], use["input"]) == ("I look.", "weather", {"city": "Paris"})
        messages.append({"role": "assistant", "content": content})
        result = {"toolUseId": use["toolUseId"], "content": [{"text": "Paris: 21 degrees"}]}
        messages.append({"role": "user", "content": [{"toolResult": result}]})
        assert say(messages)[0]["text"] == "It is 21 degrees."
    assert not mock.session.violations
    assert not mock.session.repairs


def joined(events):
    """The content that a Converse stream brings."""
    blocks, inputs = {}, {}
    for event in events:
        index = next(iter(event.values())).get("contentBlockIndex")
        start = event.get("contentBlockStart", {}).get("start", {})
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        if "toolUse" in start:
            blocks[index], inputs[index] = {"toolUse": start["toolUse"]}, ""
        if "text" in delta:
            blocks[index] = {"text": blocks.get(index, {"text": ""})["text"] + delta["text"]}
        if "toolUse" in delta:
            inputs[index] += delta["toolUse"]["input"]
            blocks[index]["toolUse"]["input"] = inputs[index]
    for index in inputs:
        blocks[index]["toolUse"]["input"] = json.loads(inputs[index])
    return list(blocks.values())


def test_a_request_that_is_signed_with_another_key_is_refused():
    pytest.importorskip("botocore")
    from botocore.exceptions import ClientError

    mock = mock_of("nova", sunny())
    with (
        serve(mock) as url,
        closing(bedrock_client(url, secret="not-the-secret")) as client,
        pytest.raises(ClientError, match="doesn't match"),
    ):
        client.converse(modelId=NOVA, messages=[{"role": "user", "content": [{"text": PROMPT}]}])
    assert "the signature doesn't match" in mock.session.violations


# What is refused


def chat_body(call_id):
    asked = {"id": call_id, "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": call_id, "content": "Paris: 21 degrees"},
    ]
    return {"model": "m", "messages": messages, "tools": [CHAT_TOOL]}


def changed(body, path, value):
    """The body with one place set, or taken away where the value is None. Numbers count list items."""
    body = copy.deepcopy(body)
    *way, last = [int(step) if step.lstrip("-").isdigit() else step for step in path.split(".")]
    place = body
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    elif isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value
    return body


def posted(at, path, body, headers):
    mock = mock_of(at, sunny())
    response = mock(Request("POST", path, headers, json.dumps(body).encode()))
    return response, mock.session


CHAT_REFUSALS = [
    ("gpt-4o", "call_1", "/v1/chat/completions", "messages.0.mood", "good", "extra inputs"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "messages.1.tool_calls.0.function.arguments", {}, "must be str"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "messages.2", None, "have no results"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "messages.2.tool_call_id", "call_2", "no open call"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "messages.3", {"role": "assistant", "content": None}, "content or tool_calls"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "tools", [], "too short"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "stream_options", {"include_usage": True}, "only allowed when 'stream'"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "tools.0.function.strict", True, "additionalProperties"),
    ("gpt-4o", "call_1", "/v1/chat/completions", "tools.0.function.name", "get weather", "doesn't match"),
    (
        "gpt-4o",
        "call_1",
        "/v1/chat/completions",
        "tools.0.function.parameters.properties.city",
        {"$ref": "#/$defs/City"},
        "reference",
    ),
    ("gpt-5.6", "call_1", "/v1/chat/completions", "user", "me", "use /v1/responses"),
    ("o3", "call_1", "/v1/chat/completions", "temperature", 0.2, "does not support 0.2"),
    ("o3", "call_1", "/v1/chat/completions", "max_tokens", 10, "max_completion_tokens"),
    ("mistral", "Kc0000pQz", "/v1/chat/completions", "stream_options", {"include_usage": True}, "Extra inputs"),
    ("mistral", "call_1", "/v1/chat/completions", "n", 1, "length of 9"),
    ("mistral", "Kc0000pQz", "/v1/chat/completions", "messages.3", {"role": "user", "content": "Go on."}, "after role 'tool'"),
    ("deepseek", "call_1", "/chat/completions", "user", "me", "reasoning_content"),
    ("kimi", "call_1", "/v1/chat/completions", "messages.1.reasoning_content", "", "reasoning_content is missing"),
    ("openrouter", "call_1", "/api/v1/chat/completions", "user", "me", "reasoning details"),
    ("gemini-chat", "call_1", "/v1beta/openai/chat/completions", "user", "me", "thought_signature"),
    ("groq", "call_1", "/openai/v1/chat/completions", "messages.1.reasoning_content", "So.", "is unsupported"),
    ("no-tools", "call_1", "/v1/chat/completions", "user", "me", "does not support tools"),
    ("vllm", "call_1", "/v1/chat/completions", "messages.1.tool_calls.0.function.arguments", "{city", "no JSON"),
]


@pytest.mark.parametrize(("at", "call_id", "url", "path", "value", "words"), CHAT_REFUSALS)
def test_a_chat_server_refuses_what_the_provider_refuses(at, call_id, url, path, value, words):
    if at == "mistral":
        pytest.importorskip("mistralai")
    body = changed(chat_body(call_id), path, value)
    response, session = posted(at, url, body, {"authorization": f"Bearer {KEY}"})
    assert response.status in (400, 422)
    assert words in response.body.decode()
    assert session.violations or session.repairs


def claude_body():
    content = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}},
    ]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Paris: 21 degrees"}
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result, {"type": "text", "text": "Go on."}]},
    ]
    return {"model": "claude-opus-5-5", "max_tokens": 1000, "messages": messages, "tools": [CLAUDE_TOOL]}


MARK = {"type": "ephemeral"}
CLAUDE_REFUSALS = [
    ("temperature", 0.5, "deprecated"),
    ("thinking", {"type": "enabled", "budget_tokens": 2000}, "not supported"),
    ("max_tokens", 200_000, "maximum allowed"),
    ("max_tokens", None, "field required"),
    ("mood", "good", "extra inputs"),
    ("tools", None, "must define tools"),
    ("tools.0.name", "get weather", "should match pattern"),
    ("messages.0", None, "first message"),
    ("messages.2", None, "must end with a user message"),
    ("messages.1.content.0.text", " ", "non-whitespace"),
    ("messages.1.content.1.id", "call:1", "should match pattern"),
    ("messages.1.content.0", {"type": "thinking", "thinking": "So.", "signature": "made up"}, "Invalid `signature`"),
    ("messages.2.content.0", {"type": "text", "text": "First."}, "immediately after"),
    ("messages.1.content", [{"type": "text", "text": str(n), "cache_control": MARK} for n in range(5)], "maximum of 4"),
]


@pytest.mark.parametrize(("path", "value", "words"), CLAUDE_REFUSALS)
def test_the_messages_server_refuses_what_anthropic_refuses(path, value, words):
    headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    response, session = posted("claude", "/v1/messages", changed(claude_body(), path, value), headers)
    assert response.status == 400
    assert any(words in line for line in session.violations + session.repairs)


def responses_body():
    items = [
        {"role": "user", "content": PROMPT},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Paris"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "Paris: 21 degrees"},
    ]
    return {"model": "gpt-6-sol", "input": items, "tools": [RESPONSES_TOOL], "store": False}


THINKING = {"type": "reasoning", "id": "rs_1", "summary": []}
RESPONSES_REFUSALS = [
    ("temperature", 0.5, "not supported"),
    ("mood", "good", "extra inputs"),
    ("max_output_tokens", 5, "below minimum"),
    ("previous_response_id", "resp_9", "not found"),
    ("input.1", None, "No tool call found"),
    ("input.2", None, "No tool output found"),
    ("input.1.id", "call_1", "begins with 'fc'"),
    ("input.3", THINKING, "not persisted"),
    ("input.3", {**THINKING, "encrypted_content": "made up"}, "could not be verified"),
    ("input.3", {**THINKING, "encrypted_content": "made up"}, "required following item"),
    ("tools.0.strict", True, "additionalProperties"),
    ("tools.0.name", "get weather", "doesn't match"),
]


@pytest.mark.parametrize(("path", "value", "words"), RESPONSES_REFUSALS)
def test_the_responses_server_refuses_what_openai_refuses(path, value, words):
    body = changed(responses_body(), path, value)
    response, session = posted("gpt-6", "/v1/responses", body, {"authorization": f"Bearer {KEY}"})
    assert response.status in (400, 404)
    assert any(words in line for line in session.violations + session.repairs)


def gemini_body():
    call = {"id": "call1", "name": "weather", "args": {"city": "Paris"}}
    contents = [
        {"role": "user", "parts": [{"text": PROMPT}]},
        {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": "skip_thought_signature_validator"}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "call1", "name": "weather", "response": {"result": "21"}}}]},
    ]
    return {"contents": contents, "tools": [{"functionDeclarations": [GEMINI_FUNCTION]}]}


GEMINI_REFUSALS = [
    ("mood", "good", "Cannot find field"),
    ("contents.0.role", "assistant", "valid role"),
    ("contents.0.parts", [], "has no parts"),
    ("contents.0.parts.0.mood", "good", "extra inputs"),
    ("contents.0", None, "begins and ends with a user turn"),
    ("contents.2", None, "begins and ends with a user turn"),
    ("contents.1.parts.0.thoughtSignature", None, "thought_signature"),
    ("contents.1.parts.0.thoughtSignature", "bWFkZSB1cA==", "Corrupted thought signature"),
    ("contents.2.parts.1", {"functionResponse": {"id": "2", "name": "weather", "response": {}}}, "number of function response"),
    ("contents.2.parts.0.functionResponse.id", "call2", "no open call"),
    ("tools.0.functionDeclarations.0.name", "1st", "Invalid function name"),
    ("tools.0.functionDeclarations.0.parameters", {"type": "object"}, "mutually exclusive"),
    ("tools.0.functionDeclarations", [{"name": "a", "parameters": {"$ref": "#/$defs/A"}}], "extra inputs"),
    (
        "tools.0.functionDeclarations",
        [{"name": "a", "parameters": {"type": "object", "additionalProperties": False}}],
        "additionalProperties",
    ),
]


@pytest.mark.parametrize(("path", "value", "words"), GEMINI_REFUSALS)
def test_the_gemini_server_refuses_what_google_refuses(path, value, words):
    pytest.importorskip("google.genai")
    body = changed(gemini_body(), path, value)
    response, session = posted("gemini", "/v1beta/models/gemini-3-pro-preview:generateContent", body, {"x-goog-api-key": KEY})
    assert response.status == 400
    assert any(words in line for line in session.violations + session.repairs)


def converse_body():
    use = {"toolUseId": "tooluse_1", "name": "weather", "input": {"city": "Paris"}}
    result = {"toolUseId": "tooluse_1", "content": [{"text": "Paris: 21 degrees"}]}
    messages = [
        {"role": "user", "content": [{"text": PROMPT}]},
        {"role": "assistant", "content": [{"text": "I look."}, {"toolUse": use}]},
        {"role": "user", "content": [{"toolResult": result}]},
    ]
    return {"messages": messages, "toolConfig": {"tools": [CONVERSE_TOOL]}}


CONVERSE_REFUSALS = [
    ("mood", "good", "extra inputs"),
    ("inferenceConfig", {"temperature": 0.2}, "deprecated"),
    ("toolConfig", None, "toolConfig field must be defined"),
    ("toolConfig.tools.0.toolSpec.name", "get weather", "doesn't match"),
    ("messages.0", None, "must start with a user message"),
    ("messages.2", None, "must end with a user message"),
    ("messages.3", {"role": "user", "content": [{"text": "Go on."}]}, "must alternate"),
    ("messages.1.content.0.text", " ", "is blank"),
    ("messages.1.content", [], "is empty"),
    ("messages.1.content.1.toolUse.toolUseId", "call/1", "doesn't match"),
    ("messages.2.content", [{"text": "Go on."}], "Expected toolResult blocks"),
    (
        "messages.1.content.0",
        {"reasoningContent": {"reasoningText": {"text": "So.", "signature": "made up"}}},
        "Invalid `signature`",
    ),
]


@pytest.mark.parametrize(("path", "value", "words"), CONVERSE_REFUSALS)
def test_the_converse_server_refuses_what_bedrock_refuses(path, value, words):
    pytest.importorskip("botocore")
    response, session = signed_and_posted(changed(converse_body(), path, value))
    assert response.status == 400
    assert any(words in line for line in session.violations + session.repairs)


def signed_and_posted(body):
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    path = "/model/us.anthropic.claude-opus-4-8/converse"
    raw = json.dumps(body).encode()
    request = AWSRequest("POST", f"http://bedrock.test{path}", {"host": "bedrock.test"}, raw)
    SigV4Auth(Credentials(KEY, SECRET_KEY), "bedrock", REGION).add_auth(request)
    mock = mock_of("bedrock", sunny())
    headers = {name.lower(): value for name, value in request.headers.items()}
    return mock(Request("POST", path, headers, raw)), mock.session


def test_a_signed_request_is_answered():
    pytest.importorskip("botocore")
    assert signed_and_posted(converse_body())[0].status == 200


def test_the_requests_that_refusals_are_made_from_are_fine():
    claude, _ = posted("claude", "/v1/messages", claude_body(), {"x-api-key": KEY, "anthropic-version": "2023-06-01"})
    chat, _ = posted("gpt-4o", "/v1/chat/completions", chat_body("call_1"), {"authorization": f"Bearer {KEY}"})
    responses, _ = posted("gpt-6", "/v1/responses", responses_body(), {"authorization": f"Bearer {KEY}"})
    gemini, _ = posted("gemini", "/v1beta/models/gemini-3-pro-preview:generateContent", gemini_body(), {"x-goog-api-key": KEY})
    assert (claude.status, chat.status, responses.status, gemini.status) == (200, 200, 200, 200)


def test_a_key_in_the_wrong_place_is_refused():
    response, session = posted("gpt-4o", "/v1/chat/completions", chat_body("call_1"), {"x-api-key": KEY})
    assert response.status == 401
    assert session.violations


def test_whoever_comes_back_too_early_is_refused_again_and_loses_nothing():
    mock = mock_of("gpt-4o", Fail("rate_limit", retry_after=60), sunny())
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": PROMPT}]}).encode()
    request = Request("POST", "/v1/chat/completions", {"authorization": f"Bearer {KEY}"}, body)
    responses = [mock(request) for _ in range(3)]
    assert [response.status for response in responses] == [429, 429, 429]
    assert responses[0].headers["retry-after"] == "60"
    assert len(mock.session.script) == 1


def test_a_type_without_its_package_checks_nothing_and_says_so():
    assert loaded("nowhere_to_be_found.types", "Request") is Any
    assert "nowhere_to_be_found" in missing
    del missing["nowhere_to_be_found"]
