"""What a server tells of a model's chat template; and nothing, where there is nobody who does."""

import asyncio

import pytest

from treadle.models.chat_templates import fetch_chat_template
from wire import WireServer

NOBODY = "http://127.0.0.1:9"


def told(pages, model, path=""):
    with WireServer() as server:
        server.pages = pages
        found = asyncio.run(fetch_chat_template(model, server.url + path))
    return found, server.requests


def test_ollama_shows_the_template_of_a_model():
    found, requests = told({"/api/show": {"template": "{{ .Tools }}", "modelfile": "…"}}, "ollama:qwen3:8b")
    assert found == "{{ .Tools }}"
    assert requests[0].body == {"model": "qwen3:8b"}


@pytest.mark.parametrize("path", ["/v1", "/v1/", ""])
def test_llama_server_shows_it_beside_the_chat_completions(path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "the-key")
    found, requests = told({"/props": {"chat_template": "{% if tools %}"}}, "openai:x", path)
    assert found == "{% if tools %}"
    assert requests[0].headers["authorization"] == "Bearer the-key"


def test_a_server_that_knows_of_no_templates_tells_nothing(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert told({}, "openai:x", "/v1")[0] == ""
    for odd in ([], "words", {"chat_template": 3}, {}):
        assert told({"/props": odd}, "openai:x", "/v1")[0] == ""


@pytest.mark.parametrize(
    ("model", "place"),
    [
        ("ollama:x", NOBODY),
        ("openai:x", NOBODY),
        ("openai:x", "http://host:port"),
        ("ollama:x", "http://host:port"),
        ("command:x", ""),
    ],
)
def test_where_nobody_answers_nothing_is_told(model, place, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert asyncio.run(fetch_chat_template(model, place)) == ""


def test_the_public_endpoint_is_not_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert asyncio.run(fetch_chat_template("openai:gpt-4o-mini")) == ""
