"""Vertex AI: Gemini and Claude at the addresses of a project, with a token for each request."""

import pytest

import wire
from treadle.core.calls import Call, Result
from treadle.core.errors import ModelRefused, SettingsError
from treadle.core.messages import Message
from treadle.core.requests import Options, Traits
from treadle.models.wires.vertex import make_vertex_anthropic, make_vertex_google, vertex_address
from wire import ADD, WireServer, ask, call, calls_in, hear, refuse, reply, request, text_in, think

PLACE = {"project": "my-project", "location": "europe-west1"}
GOOGLE = "/v1/projects/my-project/locations/europe-west1/publishers/google/models/"
ANTHROPIC = "/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/"
ROUND = Message("model", (Call("c1", "add", {"a": 1}),)), Message("tools", (Result("c1", "add", "3"),))


def tokens():
    """Another token for each request, and what was to be authorized."""
    seen = []

    async def authorize(path, body):
        seen.append((path, body))
        return {"authorization": f"Bearer token-{len(seen)}"}

    return authorize, seen


def model(make, server, name, **settings):
    return make(name, **PLACE, authorize=tokens()[0], base_url=server.url, **settings)


def received(make, name, asked=None, **settings):
    with WireServer(["fine"]) as server:
        deltas = ask(model(make, server, name, **settings), asked)
    assert text_in(deltas) == "fine"
    return server.requests[0]


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ("europe-west1", "https://europe-west1-aiplatform.googleapis.com"),
        ("global", "https://aiplatform.googleapis.com"),
        ("us", "https://aiplatform.us.rep.googleapis.com"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_each_location_has_its_address(location, address):
    assert vertex_address(location) == address


@pytest.mark.parametrize("location", ["", "example.org/x", "us central1", "EU@x"])
@pytest.mark.parametrize("make", [make_vertex_google, make_vertex_anthropic])
def test_no_token_is_sent_to_what_is_no_location(make, location):
    with pytest.raises(SettingsError, match="no location"):
        make("m", project="p", location=location, authorize=tokens()[0])


def test_gemini_is_asked_in_the_project():
    assert received(make_vertex_google, "gemini-2.5-pro").path == f"{GOOGLE}gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert received(make_vertex_google, "gemini-2.5-pro", stream=False).path == f"{GOOGLE}gemini-2.5-pro:generateContent"


def test_gemini_gets_a_token_and_no_key():
    headers = received(make_vertex_google, "gemini-2.5-pro").headers
    assert headers["authorization"] == "Bearer token-1"
    assert "x-goog-api-key" not in headers


def test_gemini_gets_no_ids_of_calls_there():
    _, calls, results = received(make_vertex_google, "gemini-3-pro-preview", request("hi", *ROUND)).body["contents"]
    assert calls["parts"] == [
        {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "skip_thought_signature_validator"}
    ]
    assert results["parts"] == [{"functionResponse": {"name": "add", "response": {"output": "3"}}}]


def test_one_history_may_go_to_both_services():
    asked = request("hi", *ROUND)
    with WireServer(lambda _: "fine") as server:
        for one in (wire.model(server, "google"), model(make_vertex_google, server, "wired"), wire.model(server, "google")):
            ask(one, asked)
    parts = [sent.body["contents"][1]["parts"][0]["functionCall"] for sent in server.requests]
    assert ["id" in part for part in parts] == [True, False, True]


def test_claude_is_asked_in_the_project():
    assert (
        received(make_vertex_anthropic, "claude-opus-4-5@20251101").path == f"{ANTHROPIC}claude-opus-4-5@20251101:streamRawPredict"
    )
    assert received(make_vertex_anthropic, "claude-opus-4-5", stream=False).path == f"{ANTHROPIC}claude-opus-4-5:rawPredict"


def test_claude_gets_a_token_and_its_version_in_the_body(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    one = received(make_vertex_anthropic, "claude-opus-4-5", request(options=Options(max_tokens=9)))
    assert one.headers["authorization"] == "Bearer token-1"
    assert not {"x-api-key", "anthropic-version"} & one.headers.keys()
    assert one.body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in one.body
    assert (one.body["max_tokens"], one.body["stream"]) == (9, True)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("make", [make_vertex_google, make_vertex_anthropic])
def test_replies_are_those_of_the_models_own_wire(make, stream):
    with WireServer([reply(think("Hm.", signature="c2ln"), "I'll add.", call("add", {"a": 1}, id="c1"))]) as server:
        deltas = ask(model(make, server, "m", stream=stream), request(tools=(ADD,)))
    (one,) = calls_in(deltas)
    assert (text_in(deltas), one.name, one.id) == ("I'll add.", "add", "c1")
    assert deltas[-1].model == "vertex:m"
    assert deltas[-1].finish == "calls"


@pytest.mark.parametrize("make", [make_vertex_google, make_vertex_anthropic])
def test_each_request_is_authorized_by_what_is_sent(make):
    authorize, seen = tokens()
    with WireServer(lambda _: "fine") as server:
        one = make("m", **PLACE, authorize=authorize, base_url=server.url)
        ask(one)
        ask(one)
    assert [sent.headers["authorization"] for sent in server.requests] == ["Bearer token-1", "Bearer token-2"]
    assert [path for path, _ in seen] == [sent.path for sent in server.requests]


@pytest.mark.parametrize("make", [make_vertex_google, make_vertex_anthropic])
def test_a_refusal_says_which_credentials_to_check(make):
    with WireServer([refuse(403, "Permission 'aiplatform.endpoints.predict' denied")]) as server:
        _, error = hear(model(make, server, "m"))
    assert type(error) is ModelRefused
    assert "check GOOGLE_APPLICATION_CREDENTIALS" in str(error)


def test_credentials_that_fail_end_the_request():
    async def authorize(path, body):
        raise ModelRefused("Run `gcloud auth application-default login` again.")

    with WireServer(["never"]) as server:
        _, error = hear(make_vertex_google("m", **PLACE, authorize=authorize, base_url=server.url))
    assert type(error) is ModelRefused
    assert server.requests == []


def test_what_the_models_can_do():
    authorize = tokens()[0]
    assert make_vertex_anthropic("claude-sonnet-4-5", **PLACE, authorize=authorize).traits.context == 200_000
    assert make_vertex_anthropic("m", **PLACE, authorize=authorize, context=1_000_000).traits.context == 1_000_000
    assert make_vertex_google("m", **PLACE, authorize=authorize, traits=Traits(context=7)).traits.context == 7
    assert make_vertex_google("m", **PLACE, authorize=authorize).name == "vertex:m"


def test_anthropics_own_client_sends_the_same():
    anthropic = pytest.importorskip("anthropic", reason="anthropic isn't installed")
    ours = received(make_vertex_anthropic, "claude-opus-4-5@20251101", request(options=Options(max_tokens=9)), stream=False)
    with WireServer(["fine"]) as server:
        client = anthropic.AnthropicVertex(
            region="europe-west1", project_id="my-project", access_token="token-1", base_url=f"{server.url}/v1"
        )
        with client:
            reply = client.messages.create(
                model="claude-opus-4-5@20251101",
                max_tokens=9,
                stream=False,
                system=ours.body["system"],
                messages=ours.body["messages"],
            )
    theirs = server.requests[0]
    assert reply.content[0].text == "fine"
    assert theirs.path == ours.path
    assert theirs.headers["authorization"] == ours.headers["authorization"]
    assert "x-api-key" not in theirs.headers
    # Newer clients name a newer version of the messages; ours names the one whose messages it speaks.
    assert theirs.body.pop("anthropic_version")
    assert ours.body.pop("anthropic_version") == "vertex-2023-10-16"
    assert theirs.body == ours.body


def test_googles_own_client_asks_at_the_same_place():
    genai = pytest.importorskip("google.genai", reason="google-genai isn't installed")
    credentials = pytest.importorskip("google.oauth2.credentials", reason="google-genai isn't installed")
    ours = received(make_vertex_google, "gemini-2.5-pro", request("hi", instructions=""), stream=False)
    with WireServer(["fine"]) as server:
        client = genai.Client(
            vertexai=True,
            project="my-project",
            location="europe-west1",
            credentials=credentials.Credentials("token-1"),
            http_options={"base_url": server.url, "api_version": "v1"},
        )
        with client:
            reply = client.models.generate_content(model="gemini-2.5-pro", contents="hi")
    theirs = server.requests[0]
    assert reply.text == "fine"
    assert theirs.path == ours.path
    assert theirs.headers["authorization"] == ours.headers["authorization"]
    assert theirs.body == ours.body
