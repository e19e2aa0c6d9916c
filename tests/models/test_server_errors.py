"""Whatever a server says instead of a reply becomes the right error, with a sentence that says what to do."""

import json
import time
from datetime import UTC, datetime
from email.utils import formatdate

import pytest

import wire
from treadle.core.errors import ContextTooLong, ModelRefused, ModelUnavailable, ReplyBroken, ToolsRefused
from treadle.models.server_errors import ServerIdentity, unreachable_error
from wire import WireServer, ask, events, hear, lines, raw, refuse, say


def refused(answer, name="openai", stream=True, **settings):
    with WireServer([answer]) as server:
        deltas, error = hear(wire.model(server, name, stream=stream, **settings))
    assert deltas == []
    return error


@pytest.mark.parametrize(("name", "stream"), wire.ALL)
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_an_overloaded_or_failing_server_is_unavailable(name, stream, status):
    error = refused(refuse(status, "come back later"), name, stream)
    assert type(error) is ModelUnavailable
    assert error.retryable
    assert error.status == status
    assert "come back later" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After-Ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "-3"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "soon", "X-RateLimit-Reset": "12"}, 12),
        ({"X-RateLimit-Reset-Requests": "6m1.5s"}, 361.5),
        ({"X-RateLimit-Reset-Tokens": "20ms"}, 0.02),
        ({"X-RateLimit-Reset-Tokens": "1h2m"}, 3720),
        ({"X-RateLimit-Reset-Requests": "120ms", "X-RateLimit-Reset-Tokens": "20s"}, 20),
        (
            {
                "X-RateLimit-Reset-Requests": "8h",
                "X-RateLimit-Remaining-Requests": "99",
                "X-RateLimit-Reset-Tokens": "20s",
                "X-RateLimit-Remaining-Tokens": "0",
            },
            20,
        ),
    ],
)
def test_the_server_says_how_long_to_wait(headers, seconds):
    assert refused(refuse(429, headers=headers)).retry_after == seconds


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"message": "Rate limit reached on tokens per min: Limit 30000. Please try again in 20s. Visit …"}, 20),
        ({"message": "Please try again in 1m20.5s."}, 80.5),
        ({"message": "Please try again in 350ms."}, 0.35),
        ({"message": "Please retry after 26 seconds. To increase your limit, …"}, 26),
        ({"message": "Please retry in 20.5s.", "details": [{"@type": "RetryInfo", "retryDelay": "17s"}]}, 17),
        ({"message": "Slow down.", "metadata": {"retry_after_seconds": 12}}, 12),
        ({"message": "Slow down.", "retry_after": "12"}, 12),
        ({"message": "Please try again in a while."}, None),
    ],
)
def test_the_error_itself_may_say_how_long_to_wait(error, seconds):
    body = json.dumps({"error": {"code": 429, **error}}).encode()
    answer = b"HTTP/1.1 429 Busy\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    assert refused(wire.verbatim(answer)).retry_after == seconds
    assert refused(events({"error": {"code": 429, **error}})).retry_after == seconds


def test_the_server_may_say_until_when_to_wait():
    in_a_minute = time.time() + 60
    iso = datetime.fromtimestamp(in_a_minute, UTC).isoformat()
    for headers in (
        {"Retry-After": iso},
        {"Retry-After": iso.replace("+00:00", "Z")},
        {"X-RateLimit-Reset": f"{in_a_minute * 1000:.0f}"},
    ):
        assert refused(refuse(503, headers=headers)).retry_after == pytest.approx(60, abs=10)
    for headers in ({"Retry-After": formatdate(in_a_minute, usegmt=True)}, {"X-RateLimit-Reset": str(in_a_minute)}):
        assert refused(refuse(503, headers=headers)).retry_after == pytest.approx(60, abs=10)
    assert refused(refuse(503, headers={"Retry-After": formatdate(0, usegmt=True)})).retry_after == 0


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens. However, you asked for 9000."),
        (400, "", "prompt is too long: 208310 tokens > 200000 maximum"),
        (400, "", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        (
            400,
            "exceed_context_size_error",
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        ),
        (500, "", "the request exceeds the available context size. try increasing the context size or enable context shift"),
        (400, "", "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
        (400, "", "the input length exceeds the context length"),
        (400, "", "Requested tokens (2285) exceed context window of 2048"),
        (400, "", "Context size has been exceeded."),
        (400, "", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (400, "", "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
        (400, "", "Please reduce the length of the messages or completion."),
        (413, "request_too_large", "Request exceeds the maximum size"),
        (413, "", ""),
    ],
)
def test_a_conversation_that_is_too_long_is_told_apart(status, kind, message):
    error = refused(refuse(status, message, kind=kind))
    assert type(error) is ContextTooLong
    assert not error.retryable
    assert error.status == status


@pytest.mark.parametrize(
    "message", ["max_tokens is too large: 90000", "Unknown parameter: 'top_k'", "Invalid 'messages[1].content'"]
)
def test_other_bad_requests_are_refused_in_the_servers_words(message):
    error = refused(refuse(400, message))
    assert type(error) is ModelRefused
    assert not error.retryable
    assert message in str(error)


@pytest.mark.parametrize(("name", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_names_the_variable_to_check(name, variable, status):
    error = refused(refuse(status, "bad key"), name)
    assert type(error) is ModelRefused
    assert variable in str(error)


def test_without_a_key_no_variable_is_named():
    error = refused(refuse(403, "not allowed"), "ollama")
    assert type(error) is ModelRefused
    assert "KEY" not in str(error)
    assert "set its key, or headers under [providers.ollama] in your treadle.toml." in str(error)


def test_an_unknown_model_is_named_with_the_address():
    with WireServer([refuse(404, "no such model")]) as server:
        _, error = hear(wire.model(server, name="gpt-17"))
        assert type(error) is ModelRefused
        assert f"no model gpt-17 at {server.url}/v1" in str(error)


def test_ollama_says_how_to_get_a_model():
    assert "ollama pull wired" in str(refused(refuse(404, "model 'wired' not found"), "ollama"))


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("ollama", 400, "registry.ollama.ai/library/wired does not support tools"),
        ("openai", 400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        ("openai", 500, "tools param requires --jinja flag"),
        ("openai", 404, "No endpoints found that support tool use."),
        ("openai", 400, "Function calling is not supported by this model"),
    ],
)
def test_a_model_without_tools_is_told_apart_and_what_to_do_is_said(name, status, message):
    error = refused(refuse(status, message), name)
    assert type(error) is ToolsRefused
    assert f"{name}:wired at 127.0.0.1" in str(error)
    for words in ("`--dialect auto`", 'Agent(dialect="auto")', f"`treadle models probe {name}:wired`", message):
        assert words in str(error)


def test_an_address_that_moved_is_named():
    error = refused(refuse(308, headers={"Location": "https://elsewhere.example/v1"}))
    assert type(error) is ModelRefused
    assert "https://elsewhere.example/v1" in str(error)


def test_an_account_without_credit_is_not_asked_again():
    error = refused(refuse(429, "You exceeded your current quota", kind="insufficient_quota"))
    assert type(error) is ModelRefused
    assert "credit" in str(error)


def test_a_limit_on_tokens_a_minute_is_no_context_that_is_too_long():
    error = refused(refuse(429, "Request too large for gpt-4 on tokens per min; reduce the length of the messages"))
    assert type(error) is ModelUnavailable


def test_keys_are_never_repeated():
    error = refused(refuse(401, "Incorrect key test-key, or sk-proj-abcdef1234567890ABCDEF"))
    assert all(secret not in str(error) for secret in ("test-key", "abcdef"))


def test_a_long_message_is_shortened_to_one_line():
    error = refused(refuse(400, "word\n" * 1000))
    assert len(str(error)) < 500
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "why"}},
        {"error": "why"},
        {"message": "why"},
        {"detail": "why"},
        {"detail": [{"loc": ["body"], "msg": "why"}]},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "why"}},
        {"object": "error", "message": "why", "code": 400},
        {"errors": ["why"]},
        {"error": {"error": {"message": "why"}}},
        [{"error": {"message": "why"}}],
    ],
)
def test_the_servers_words_are_found_wherever_it_puts_them(body):
    assert "It said: why" in str(refused(refuse(400, body=json.dumps(body).encode())))


def test_plain_text_is_repeated_and_a_web_page_is_not():
    assert "It said: Bad gateway" in str(refused(refuse(502, body=b"Bad gateway")))
    assert "It said" not in str(refused(refuse(502, body=b"<html><body>Bad gateway</body></html>")))
    assert "It said" not in str(refused(refuse(502, body=b"")))
    assert "It said" not in str(refused(refuse(502, body=b'{"code": 502}')))
    assert "It said" not in str(refused(refuse(502, body=b'{"error": 17}')))


def test_a_huge_refusal_is_not_read_to_its_end():
    assert type(refused(refuse(500, body=b"x" * 5_000_000))) is ModelUnavailable


@pytest.mark.parametrize(
    ("error", "expected", "status"),
    [
        ({"message": "overloaded", "type": "overloaded_error"}, ModelUnavailable, 529),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, ModelUnavailable, 429),
        ({"message": "slow down", "code": 429}, ModelUnavailable, 429),
        ({"message": "slow down", "code": "429"}, ModelUnavailable, 429),
        ({"message": "oops", "type": "server_error"}, ModelUnavailable, 500),
        ({"message": "oops"}, ModelUnavailable, 500),
        ("oops", ModelUnavailable, 500),
        ({"message": "no", "type": "invalid_request_error"}, ModelRefused, 400),
        ({"message": "no", "code": 403}, ModelRefused, 403),
        ({"message": "too much", "code": "context_length_exceeded"}, ContextTooLong, 400),
        ({"message": "request (9 tokens) exceeds the available context size (8 tokens)", "code": 500}, ContextTooLong, 500),
    ],
)
def test_an_error_inside_of_a_stream_is_as_good_as_a_status(error, expected, status):
    for answer in (
        events({"error": error}),
        raw(json.dumps({"error": error}).encode(), content_type="application/json"),
        raw(f"error: {json.dumps(error)}\n\n".encode()),
    ):
        found = refused(answer)
        assert type(found) is expected
        assert found.status == status


def test_an_error_event_of_anthropic_is_understood():
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found = refused(raw(f"event: error\ndata: {json.dumps(overloaded)}\n\n".encode()), "anthropic")
    assert type(found) is ModelUnavailable
    assert found.status == 529
    assert (
        type(refused(raw(json.dumps(overloaded).encode(), content_type="application/json"), "anthropic", False)) is ModelUnavailable
    )


def test_an_error_line_of_ollama_is_understood():
    assert type(refused(lines({"error": "model runner has stopped"}), "ollama")) is ModelUnavailable
    nested = json.dumps({"error": {"code": 400, "message": "exceeds the available context size"}})
    assert type(refused(lines({"error": nested}), "ollama")) is ContextTooLong


def test_an_error_object_that_only_says_so_is_understood():
    assert refused(events({"object": "error", "message": "no", "code": 400})).status == 400


def test_a_refusal_that_breaks_off_is_still_a_refusal():
    error = refused(wire.verbatim(b"HTTP/1.1 429 Busy\r\ncontent-length: 99\r\nretry-after: 3\r\n\r\n{"))
    assert type(error) is ModelUnavailable
    assert error.retry_after == 3


def test_what_came_before_the_error_is_given():
    with WireServer([events({"choices": [{"delta": {"content": "so far"}}]}, {"error": {"code": 503}})]) as server:
        deltas, error = hear(wire.model(server))
    assert wire.text_in(deltas) == "so far"
    assert type(error) is ModelUnavailable


@pytest.mark.parametrize(("name", "stream"), wire.ALL)
@pytest.mark.parametrize("body", [b"", b"null", b"{", b'{"a": 1}', b"<html>", b"\xff\xfe", b"[" * 50_000, b'"words"'])
def test_a_reply_that_cannot_be_read_is_broken(name, stream, body):
    error = refused(raw(body, content_type="application/json"), name, stream)
    assert type(error) is ReplyBroken
    assert str(error).endswith(".")  # another sentence may follow
    assert error.retryable


@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama"])
def test_a_payload_that_cannot_be_read_is_broken(name):
    assert type(refused(raw(b"data: {\n\n" if name != "ollama" else b"{\n"), name)) is ReplyBroken


def test_a_login_page_instead_of_a_stream_is_refused_as_another_try_brings_it_again():
    error = refused(raw(b"<html>\n<body>\n", content_type="text/html"))
    assert type(error) is ModelRefused
    assert "check base_url" in str(error)


def test_a_model_that_recovers_is_asked_only_once_each_time():
    with WireServer([refuse(500), say("fine")]) as server:
        model = wire.model(server)
        assert type(hear(model)[1]) is ModelUnavailable
        assert len(server.requests) == 1
        assert wire.text_in(ask(model)) == "fine"


def test_a_certificate_that_is_not_trusted_is_told_apart():
    error = unreachable_error(
        ServerIdentity("openai:x", "https://host/v1"), OSError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    )
    assert type(error) is ModelUnavailable
    assert "SSL_CERT_FILE" in str(error)
