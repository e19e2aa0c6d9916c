"""The model that is used where none was named."""

import asyncio
import os
import sys

import pytest

from treadle.core.errors import SettingsError, UnknownModel
from treadle.models.downloads.catalogue import find_local_model
from treadle.plugins.models import LOCAL, configured_model, default_model
from wire import WireServer


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("TREADLE_MODEL", raising=False)
    monkeypatch.setenv("TREADLE_CONFIG", os.devnull)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path))
    return tmp_path


def here(folder):
    """The local model is in the folder: its size is right, and that is what counts."""
    with (folder / find_local_model(LOCAL).file).open("wb") as file:
        file.truncate(find_local_model(LOCAL).size)


def usual():
    return asyncio.run(default_model())


@pytest.fixture
def engine(monkeypatch):
    """Whether the engine for local models can be imported or not, it looks as if it could."""
    import math

    monkeypatch.setitem(sys.modules, "xllamacpp", math)


def test_what_was_set_comes_first(monkeypatch):
    monkeypatch.setenv("TREADLE_MODEL", "openai:x")
    assert usual() == "openai:x"


def test_then_what_the_persons_own_settings_say(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text('[model]\nname = "openai:y"\nbase_url = "http://127.0.0.1:9/v1"\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "mine.toml"))
    assert usual() == "openai:y"
    assert configured_model() == ("openai:y", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TREADLE_MODEL", "openai:x")
    assert configured_model() == ("openai:x", "")


def test_a_project_has_no_say_in_that(tmp_path, monkeypatch):
    (tmp_path / "treadle.toml").write_text('[model]\nname = "openai:y"\nbase_url = "http://evil.example/v1"\n')
    monkeypatch.chdir(tmp_path)
    assert configured_model() == ("", "")


def test_settings_that_cannot_be_read_are_no_reason_to_take_another_model(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text("[model]\nname = 5\n")
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "mine.toml"))
    with pytest.raises(
        SettingsError, match=r"model\.name in .*mine\.toml must be a text such as ollama:qwen3, or a list of such texts, not 5"
    ):
        usual()


@pytest.mark.usefixtures("engine")
def test_then_an_ollama_that_runs(folder, monkeypatch):
    here(folder)
    with WireServer() as server:
        server.tags = {"models": [{"name": "qwen3:8b"}]}
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert usual() == "ollama:qwen3:8b"


@pytest.mark.usefixtures("engine")
def test_then_the_local_one_if_it_is_here(folder):
    with pytest.raises(UnknownModel, match=r"Set OPENAI_API_KEY.* treadle models pull qwen2\.5-coder-1\.5b$"):
        usual()
    here(folder)
    assert usual() == "llamacpp:qwen2.5-coder-1.5b"


def test_without_its_engine_it_cannot_be_used(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    here(folder)
    with pytest.raises(UnknownModel, match=r"pip install 'treadle\[local\]' && treadle models pull"):
        usual()


@pytest.fixture
def keys(monkeypatch):
    """Keys of two providers; nobody has named a model."""
    for name in ("LLM_PROVIDER", "OPENAI_MODEL", "ANTHROPIC_MODEL", "CLAUDE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    return monkeypatch.setenv


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({"LLM_PROVIDER": "openai", "OPENAI_MODEL": "gpt-x"}, "openai:gpt-x"),
        ({"LLM_PROVIDER": "anthropic", "CLAUDE_MODEL": "claude-x"}, "anthropic:claude-x"),
    ],
)
def test_the_provider_and_the_model_that_variables_name_are_used(keys, variables, model):
    for name, value in variables.items():
        keys(name, value)
    assert usual() == model


def test_a_key_that_is_set_goes_before_an_ollama_that_runs(keys):
    with WireServer([]) as server:
        keys("OLLAMA_HOST", server.url)
        assert not usual().startswith("ollama:")
