import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cli.running import treadle_here as treadle
from wire import WireServer, refuse


def test_models_are_listed_and_keys_are_not(home):
    keys = {"OPENAI_API_KEY": "sk-very-secret", "OPENAI_BASE_URL": "https://me:hunter2@example.org/v1"}
    ran = treadle(home, "models", TREADLE_MODEL="openai:gpt-4o-mini", **keys)
    assert ran.code == 0
    for words in ("openai", "anthropic", "ollama", "OPENAI_API_KEY is set", "ANTHROPIC_API_KEY not set", "openai:gpt-4o-mini"):
        assert words in ran.out
    value = treadle(home, "models", "--json", **keys)
    providers = {provider["name"]: provider["key"] for provider in value.json["providers"]}
    assert (providers["openai"], providers["anthropic"], len(providers)) == ("OPENAI_API_KEY", None, 21)
    assert value.json["default"] == "openai:gpt-5-mini"
    for secret in ("very-secret", "hunter2"):
        assert secret not in ran.out + value.out


class Ollama(BaseHTTPRequestHandler):
    """Just enough of one to say which models it has."""

    def do_GET(self):
        body = b'{"models": [{"name": "qwen3:8b"}, {"name": "nomic-embed-text"}]}'
        self.send_response(200 if self.path == "/api/tags" else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def ollama():
    with HTTPServer(("127.0.0.1", 0), Ollama) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_without_a_choice_a_running_ollama_is_used(home, ollama):
    value = treadle(home, "models", "--json", OLLAMA_HOST=ollama).json
    assert value["ollama"] == {"address": ollama, "models": ["qwen3:8b"]}
    assert value["default"] == "ollama:qwen3:8b"


def test_plug_ins_are_listed_with_package_and_version(home):
    assert "treadle.models.wires.openai:from_name" in treadle(home, "plugins").out
    offered = treadle(home, "plugins", "--json").json
    assert {"group", "name", "value", "package", "version"} == set(offered[0])


def test_the_version_is_there_for_programs(home):
    assert set(treadle(home, "version", "--json").json) == {"treadle", "python"}


def test_what_a_model_refused_is_shown_and_can_be_forgotten(home):
    with WireServer(
        [refuse(400, "Unsupported parameter: 'temperature' is not supported with this model."), "Hello.", "Again."]
    ) as server:
        keys = {"GROQ_API_KEY": "k", "GROQ_BASE_URL": f"{server.url}/v1"}
        first = treadle(home, "ask", "Hi", "-m", "groq:m", "--temperature", "0", **keys)
        assert (first.code, first.out) == (0, "Hello.\n")
        assert "groq:m at 127.0.0.1" in first.err
        assert "temperature isn't sent from now on" in first.err.replace("\n", " ")
        again = treadle(home, "ask", "Hi", "-m", "groq:m", "--temperature", "0", **keys)
        assert (again.out, "temperature isn't sent" in again.err) == ("Again.\n", False)
    (known,) = treadle(home, "models", "--json").json["repairs"]
    assert (known["model"], known["repairs"]) == ("groq:m", ["temperature isn't sent"])
    assert "temperature isn't sent" in treadle(home, "models").out
    assert treadle(home, "models", "probe", "groq:m", "--forget").code == 0
    assert treadle(home, "models", "--json").json["repairs"] == []


def test_a_key_alone_is_enough_and_the_model_is_said(home):
    with WireServer(["Hello."]) as server:
        ran = treadle(home, "ask", "Hi", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url, OLLAMA_HOST=server.url)
    assert (ran.code, ran.out) == (0, "Hello.\n")
    assert "Using anthropic:claude-sonnet-5-5, because ANTHROPIC_API_KEY is set; -m names another." in ran.err
    assert server.requests[0].body["model"] == "claude-sonnet-5-5"


def test_a_misspelt_provider_is_recognised(home):
    ran = treadle(home, "ask", "Hi", "-m", "opnai:gpt-5")
    assert ran.code == 2
    assert "Did you mean openai:gpt-5?" in ran.err
