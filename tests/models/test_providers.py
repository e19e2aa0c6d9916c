"""Which model a name and a key give: the table of providers, what is known of models, and how each is reached."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from treadle.core.calls import Call, Opaque, Result
from treadle.core.errors import MissingKey, SettingsError
from treadle.core.messages import Message, Thinking, person_message
from treadle.core.requests import CallDone, Options
from treadle.models.factory import ProviderConnection, find_key_variable, make_model
from treadle.models.fallback import EitherWireModel
from treadle.models.llamacpp.model import LlamaCpp
from treadle.models.profiles import DEFAULT_LOCAL_WINDOW, DEFAULT_WINDOW, profile_of
from treadle.models.providers import PROVIDERS
from treadle.models.wires.anthropic import Anthropic
from treadle.models.wires.ollama import Ollama
from treadle.models.wires.openai import OpenAI
from treadle.models.wires.responses import Responses
from wire import ADD, WireServer, ask, calls_in, hear, raw, refuse, request, said

NAMED = [
    "openai",
    "anthropic",
    "google",
    "vertex",
    "bedrock",
    "azure",
    "mistral",
    "deepseek",
    "openrouter",
    "groq",
    "xai",
    "together",
    "fireworks",
    "cerebras",
    "perplexity",
    "moonshot",
    "zai",
    "ollama",
    "vllm",
    "lmstudio",
    "llamacpp",
]
CHAT = [kind for kind, provider in PROVIDERS.items() if provider.wire == "chat"]


def test_every_provider_is_there_with_its_own_variables():
    assert sorted(PROVIDERS) == sorted(NAMED)
    for kind, provider in PROVIDERS.items():
        assert f"{kind.upper()}_API_KEY" in provider.keys
        assert f"{kind.upper()}_BASE_URL" in provider.base_urls


def test_the_page_names_every_provider_with_its_variables():
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| `")}
    for kind, provider in PROVIDERS.items():
        row = rows[f"`{kind}:NAME`"]
        assert all(f"`{name}`" in row for name in (*provider.keys, *provider.base_urls, provider.default_model) if name)


@pytest.mark.parametrize("kind", CHAT)
def test_a_chat_provider_takes_its_key_and_its_address_from_its_variables(kind):
    with WireServer(["fine"]) as server:
        said = {f"{kind.upper()}_API_KEY": f"key of {kind}", f"{kind.upper()}_BASE_URL": f"{server.url}/v1/"}
        model = make_model(kind, "m", ProviderConnection(), said)
        assert isinstance(model, OpenAI)
        assert model.name == f"{kind}:m"
        ask(model)
    (asked,) = server.requests
    assert (asked.path, asked.headers["authorization"]) == ("/v1/chat/completions", f"Bearer key of {kind}")


@pytest.mark.parametrize("kind", [kind for kind in CHAT if not PROVIDERS[kind].local] + ["openai", "anthropic"])
def test_without_a_key_a_sentence_says_which_variable_to_set(kind):
    with pytest.raises(MissingKey, match=rf"^{kind}:m needs a key: set {kind.upper()}_API_KEY\. For a server of your own"):
        make_model(kind, "m", ProviderConnection(), {})


@pytest.mark.parametrize("kind", ["vllm", "lmstudio"])
def test_a_server_of_ones_own_needs_no_key(kind):
    assert make_model(kind, "qwen", ProviderConnection(), {}).traits.context == DEFAULT_LOCAL_WINDOW


def test_the_usual_name_of_a_key_counts_too():
    assert find_key_variable(PROVIDERS["google"], {"GEMINI_API_KEY": "x"}) == "GEMINI_API_KEY"
    assert find_key_variable(PROVIDERS["google"], {"GEMINI_API_KEY": " "}) == ""


def test_the_wire_goes_by_the_model():
    said = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    assert isinstance(make_model("openai", "gpt-5-mini", ProviderConnection(), said)._model, Responses)
    assert isinstance(make_model("openai", "gpt-4o-mini", ProviderConnection(), said)._model, OpenAI)
    assert type(make_model("openai", "qwen3", ProviderConnection(base_url="http://127.0.0.1:1/v1"), {})) is EitherWireModel
    assert type(make_model("anthropic", "claude-opus-5-5", ProviderConnection(), said)) is Anthropic
    assert type(make_model("ollama", "qwen3", ProviderConnection(), {})) is Ollama


def test_llamacpp_is_a_server_where_one_is_named_and_a_file_otherwise(tmp_path):
    assert type(make_model("llamacpp", "qwen", ProviderConnection(), {"LLAMACPP_BASE_URL": "http://127.0.0.1:1/v1"})) is OpenAI
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    model = make_model("llamacpp", str(tmp_path / "m.gguf"), ProviderConnection(context=2048), {})
    assert isinstance(model, LlamaCpp)
    assert model.traits.context == 2048


def test_vertex_needs_a_project_and_takes_a_token():
    with pytest.raises(SettingsError, match="vertex:gemini-3-pro needs the project: set GOOGLE_CLOUD_PROJECT"):
        make_model("vertex", "gemini-3-pro", ProviderConnection(), {"VERTEX_API_KEY": "token"})
    with WireServer(["fine", "fine"]) as server:
        said = {"VERTEX_API_KEY": "token", "GOOGLE_CLOUD_PROJECT": "p", "VERTEX_BASE_URL": server.url}
        for name in ("gemini-3-pro", "claude-opus-5-5"):
            ask(make_model("vertex", name, ProviderConnection(location="eu"), said))
    google, claude = server.requests
    assert google.path.startswith("/v1/projects/p/locations/eu/publishers/google/models/gemini-3-pro:streamGenerateContent")
    assert claude.path == "/v1/projects/p/locations/eu/publishers/anthropic/models/claude-opus-5-5:streamRawPredict"
    assert {each.headers["authorization"] for each in server.requests} == {"Bearer token"}
    assert claude.body["max_tokens"] == 128_000


def test_bedrock_takes_a_bearer_key_or_signs():
    keys = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "x" * 40, "AWS_REGION": "eu-central-1"}
    with WireServer(["fine", "fine"]) as server:
        for said in ({"AWS_BEARER_TOKEN_BEDROCK": "token", "AWS_REGION": "eu-central-1"}, keys):
            ask(make_model("bedrock", "amazon.nova-pro-v1:0", ProviderConnection(base_url=server.url), said))
    bearer, signed = [each.headers["authorization"] for each in server.requests]
    assert bearer == "Bearer token"
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    with pytest.raises(SettingsError, match="AWS_"):
        make_model("bedrock", "amazon.nova-pro-v1:0", ProviderConnection(), {"AWS_REGION": "eu-central-1", "HOME": "/nowhere"})


def test_google_takes_its_key_from_either_variable():
    with WireServer(["fine"]) as server:
        ask(make_model("google", "gemini-3-pro", ProviderConnection(), {"GEMINI_API_KEY": "k", "GOOGLE_BASE_URL": server.url}))
    assert server.requests[0].headers["x-goog-api-key"] == "k"


def azure(server, **said):
    variables = {"AZURE_OPENAI_API_KEY": "key", "AZURE_OPENAI_ENDPOINT": server.url, **said}
    ask(make_model("azure", "my chat/1", ProviderConnection(), variables))
    return server.requests[-1]


def test_azure_has_a_newer_surface_and_a_classic_one():
    with WireServer(["fine", "fine"]) as server:
        newer = azure(server)
        assert (newer.path, newer.headers["api-key"], newer.body["model"]) == ("/openai/v1/chat/completions", "key", "my chat/1")
        assert "authorization" not in newer.headers
        classic = azure(server, OPENAI_API_VERSION="2024-10-21")
        assert classic.path == "/openai/deployments/my%20chat%2F1/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("kind", "ends", "path"),
    [
        ("openai", "/v1 /v1/ /v1/chat/completions /v1/responses", "/v1/chat/completions"),
        ("groq", "/openai/v1 /openai/v1/chat/completions/", "/openai/v1/chat/completions"),
        ("anthropic", "/ /v1 /v1/ /v1/messages", "/v1/messages"),
        ("google", "/ /v1beta /v1beta/ /v1 /v1beta/openai/", "/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("ollama", "/ /v1 /api /v1/ /api/chat", "/api/chat"),
        ("azure", "/ /openai /openai/v1/ /models", "/openai/v1/chat/completions"),
        (
            "azure",
            "/openai/deployments/x/chat/completions?api-version=2025-01-01-preview",
            "/openai/deployments/m/chat/completions?api-version=2025-01-01-preview",
        ),
    ],
)
def test_a_base_url_may_end_as_pages_of_the_provider_show_it(kind, ends, path):
    for end in ends.split():
        with WireServer(["fine"]) as server:
            ask(make_model(kind, "m", ProviderConnection(base_url=f" {server.url}{end} ", api_key="k"), {}))
        assert server.requests[0].path == path, end


@pytest.mark.parametrize("kind", ["openai", "vllm"])
def test_a_base_url_without_a_path_is_what_to_check_if_nothing_is_found(kind):
    with WireServer([refuse(404, "Not Found")] * 2) as server:
        _, error = hear(make_model(kind, "m", ProviderConnection(base_url=server.url), {}))
    assert "it has no path, and most servers want /v1 at its end" in str(error)


def test_azure_says_what_is_missing():
    with pytest.raises(SettingsError, match="set AZURE_OPENAI_ENDPOINT to https://NAME"):
        make_model("azure", "x", ProviderConnection(api_key="k"), {})
    with pytest.raises(MissingKey, match="set AZURE_API_KEY or AZURE_OPENAI_API_KEY"):
        make_model("azure", "x", ProviderConnection(base_url="http://127.0.0.1:1"), {})


# what is known of models


@pytest.mark.parametrize(
    ("kind", "name", "window"),
    [
        ("openai", "gpt-4o-mini-2024-07-18", 128_000),
        ("openai", "gpt-5-mini", 400_000),
        ("openai", "gpt-9-of-tomorrow", 400_000),
        ("anthropic", "claude-sonnet-4-5-20250929", 200_000),
        ("anthropic", "claude-opus-4-7", 1_000_000),
        ("bedrock", "us.anthropic.claude-opus-4-7-20260401-v1:0", 1_000_000),
        ("vertex", "claude-sonnet-4-5@20250929", 200_000),
        ("google", "gemini-2.5-flash", 1_048_576),
        ("openrouter", "deepseek/deepseek-v4-pro", 1_000_000),
        ("azure", "whatever", DEFAULT_WINDOW),
        ("vllm", "whatever", DEFAULT_LOCAL_WINDOW),
    ],
)
def test_a_window_is_never_unknown(kind, name, window):
    profile = profile_of(kind, name)
    assert profile.context == window
    assert profile.known == (name != "whatever")


def test_what_families_of_models_take():
    assert [profile_of("openai", name).responses for name in ("gpt-4o", "gpt-5-mini", "gpt-5.6-sol", "gpt-6-luna", "o3")] == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert not profile_of("openai", "gpt-5-mini").samples
    assert profile_of("openai", "gpt-4.1").samples
    assert [profile_of("anthropic", f"claude-opus-{version}").samples for version in ("4-1", "4-6", "4-7", "4-8", "5-5")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert profile_of("anthropic", "claude-opus-4-1").max_output == 32_000


@pytest.mark.parametrize(
    ("known", "names"),
    [
        ("anthropic:claude-opus-4-7", "openrouter:anthropic/claude-opus-4.7 openrouter:anthropic/claude-opus-4.7:thinking"),
        ("anthropic:claude-opus-4-7", "bedrock:ca.anthropic.claude-opus-4-7 bedrock:global.anthropic.claude-opus-4-7-v1:0"),
        ("anthropic:claude-opus-4-7", "vertex:claude-opus-4-7@20260401 anthropic:claude-opus-4-7-20260401"),
        ("anthropic:claude-3-7-sonnet-latest", "openrouter:anthropic/claude-3.7-sonnet"),
        ("anthropic:claude-opus-4-0", "anthropic:claude-4-opus-20250514 openrouter:anthropic/claude-4-opus"),
        ("openai:gpt-4o-mini", "openai:ft:gpt-4o-mini-2024-07-18:acme::abc123 openrouter:openai/gpt-4o-mini:online"),
        ("openai:gpt-4.1-nano", "openai:ft:gpt-4.1-nano-2025-04-14:acme:names:x1"),
    ],
)
def test_a_model_is_the_same_by_whichever_name(known, names):
    kind, _, name = known.partition(":")
    facts = profile_of(kind, name)
    for other in names.split():
        kind, _, name = other.partition(":")
        assert replace(profile_of(kind, name), context=0) == replace(facts, context=0), other


@pytest.mark.parametrize("region", ["", "us.", "ca.", "us-gov."])
def test_the_window_of_a_model_on_bedrock_is_that_of_every_region(region):
    assert profile_of("bedrock", f"{region}amazon.nova-pro-v1:0").context == 300_000
    assert profile_of("bedrock", "zai.glm-4.7").reasons


@pytest.mark.parametrize(
    ("kind", "name", "media"),
    [
        ("mistral", "mistral-large-2512", {"image", "document"}),
        ("mistral", "voxtral-small-latest", {"audio/wav", "audio/mpeg", "document"}),
        ("xai", "grok-4.7", {"image"}),
        ("deepseek", "deepseek-v4-pro", {"image"}),
        ("openrouter", "some/model", {"image", "audio/wav", "audio/mpeg", "document"}),
    ],
)
def test_only_media_that_a_provider_has_a_form_for_are_sent(kind, name, media):
    assert make_model(kind, name, ProviderConnection(api_key="k"), {}).traits.modalities == media


@pytest.mark.parametrize(
    ("model", "structured"),
    [
        ("openai:gpt-5-mini", "yes"),
        ("openai:gpt-4o", "yes"),
        ("openai:o1-mini", "no"),
        ("openai:gpt-4-turbo", "no"),
        ("anthropic:claude-opus-4-8", "yes"),
        ("anthropic:claude-sonnet-4-5-20250929", "yes"),
        ("anthropic:claude-sonnet-4-20250514", "no"),
        ("anthropic:claude-3-5-haiku-latest", "no"),
        ("google:gemini-3.8-flash", "yes"),
        ("google:gemini-2.5-pro", "without_tools"),
        ("bedrock:global.anthropic.claude-sonnet-5-5-v1:0", "yes"),
        ("bedrock:us.anthropic.claude-3-7-sonnet-20250219-v1:0", "no"),
        ("bedrock:openai.gpt-oss-120b-1:0", "no"),
        ("mistral:mistral-medium-latest", "without_tools"),
        ("deepseek:deepseek-chat", "no"),
        ("openrouter:openai/gpt-5-mini", "yes"),
        ("vllm:qwen", "without_tools"),
        ("ollama:qwen3", "without_tools"),
    ],
)
def test_whether_a_server_takes_the_schema_of_an_answer(model, structured):
    kind, _, name = model.partition(":")
    made = make_model(kind, name, ProviderConnection(api_key="k", region="us-east-1"), {})
    assert made.traits.structured_output == structured


def test_an_unknown_server_is_not_thought_to_take_one():
    made = make_model("openai", "qwen", ProviderConnection(base_url="http://127.0.0.1:9/v1"), {})
    assert made.traits.structured_output == "no"


# how servers differ


def body_of(kind, asked, **connection):
    with WireServer(["fine"]) as server:
        ask(make_model(kind, "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k", **connection), {}), asked)
    return server.requests[0].body


ROUND = (
    person_message("Add."),
    Message("model", (Thinking("Hm, two."), Call("call_0000000001", "add", {"a": 1}), Call("abcdefghi", "add", {"a": 2}))),
    Message("tools", (Result("call_0000000001", "add", "1"), Result("abcdefghi", "add", "2"))),
)


def test_mistral_takes_short_ids_a_seed_of_its_own_and_no_user_after_results():
    options = Options(seed=7, reasoning="high", max_tokens=9)
    body = body_of("mistral", request(*ROUND, person_message("Stop."), options=options, tools=(ADD,)))
    assert (body["random_seed"], body["max_tokens"]) == (7, 9)
    assert not {"seed", "stream_options", "reasoning_effort"} & set(body)
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    ids = [call["id"] for call in body["messages"][2]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in body["messages"][3:5]]
    assert all(len(each) == 9 and each.isalnum() for each in ids)
    assert ids[1] == "abcdefghi"


def test_a_note_for_mistral_joins_the_last_result():
    messages = body_of("mistral", request(*ROUND, note="Answer now."))["messages"]
    assert messages[-1] == {"role": "tool", "tool_call_id": "abcdefghi", "content": "2\n\n[Answer now.]"}


@pytest.mark.parametrize("kind", ["deepseek", "moonshot", "zai"])
def test_reasoning_goes_back_with_the_calls_it_led_to(kind):
    messages = body_of(kind, request(*ROUND, said("Done.")))["messages"]
    assert [message.get("reasoning_content") for message in messages if message["role"] == "assistant"] == ["Hm, two.", None]
    assert "reasoning_content" not in str(body_of("groq", request(*ROUND)))


def streamed(kind, *deltas):
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas] + [{"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    pieces = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    with WireServer([raw(*pieces, b"data: [DONE]\n\n")]) as server:
        return ask(make_model(kind, "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k"), {}))


def test_reasoning_details_are_gathered_and_go_back_to_the_same_provider_only():
    piece = {"type": "reasoning.text", "index": 0, "text": "one ", "signature": None}
    closed = {"type": "reasoning.text", "index": 0, "text": "two", "signature": "Sg=="}
    hidden = {"type": "reasoning.encrypted", "index": 1, "data": "xYz", "id": "t1"}
    call = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    deltas = streamed("openrouter", {"reasoning_details": [piece]}, {"reasoning_details": [closed, hidden]}, {"tool_calls": [call]})
    (own,) = [delta for delta in deltas if isinstance(delta, Opaque)]
    details = [{"type": "reasoning.text", "index": 0, "text": "one two", "signature": "Sg=="}, hidden]
    assert own == Opaque("chat/openrouter", json.dumps({"reasoning_details": details}, separators=(",", ":")))
    assert deltas.index(own) < deltas.index(next(delta for delta in deltas if isinstance(delta, CallDone)))
    history = (
        person_message("Add."),
        Message("model", (own, Call("c1", "add", {"a": 1}))),
        Message("tools", (Result("c1", "add", "1"),)),
    )
    assert body_of("openrouter", request(*history))["messages"][2]["reasoning_details"] == details
    assert "reasoning_details" not in str(body_of("groq", request(*history)))


def test_a_thought_signature_goes_back_with_its_call():
    extra = {"google": {"thought_signature": "Ab+/=="}}
    call = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}, "extra_content": extra}
    for deltas in (streamed("openrouter", {"tool_calls": [call]}), whole("openrouter", {"tool_calls": [call]})):
        (written,) = calls_in(deltas)
        history = (person_message("Add."), Message("model", (Call("c1", "add", {"a": 1}, written.opaque),)))
        assert body_of("openrouter", request(*history))["messages"][2]["tool_calls"][0]["extra_content"] == extra
        assert "extra_content" not in str(body_of("vllm", request(*history)))


def whole(kind, message):
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    with WireServer([raw(body, content_type="application/json")]) as server:
        return ask(make_model(kind, "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k", stream=False), {}))


def test_options_as_the_chat_wire_has_them():
    options = Options(reasoning="low", tool_choice="add", parallel_calls=False, service_tier="flex", cache_key="k1")
    body = body_of("groq", request(options=options, tools=(ADD,)))
    assert (body["reasoning_effort"], body["parallel_tool_calls"], body["service_tier"]) == ("low", False, "flex")
    assert body["tool_choice"] == {"type": "function", "function": {"name": "add"}}
    assert "prompt_cache_key" not in body
    assert not {"tool_choice", "parallel_tool_calls"} & set(body_of("groq", request(options=options)))
    assert body_of("openrouter", request(options=options))["reasoning"] == {"effort": "low"}
    assert body_of("groq", request(options=Options(tool_choice="required"), tools=(ADD,)))["tool_choice"] == "required"


def test_headers_of_the_settings_and_of_a_request_are_sent():
    with WireServer(["fine", "fine"]) as server:
        model = make_model("groq", "m", ProviderConnection(base_url=f"{server.url}/v1", api_key="k", headers={"X-Team": "ops"}), {})
        ask(model, request(options=Options(headers={"X-Run": "7"})))
        ask(model)
    assert [(asked.headers["x-team"], asked.headers.get("x-run")) for asked in server.requests] == [("ops", "7"), ("ops", None)]
