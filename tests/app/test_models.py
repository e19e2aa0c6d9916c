"""The model that is used where none was named."""

import asyncio
import sys

import pytest

from treadle.app.models import LOCAL, default_model
from treadle.core.errors import UnknownModel
from treadle.models.catalogue import entry
from wire import WireServer


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("TREADLE_MODEL", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path))
    return tmp_path


def here(folder):
    """The local model is in the folder: its size is right, and that is what counts."""
    with (folder / entry(LOCAL).file).open("wb") as file:
        file.truncate(entry(LOCAL).size)


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


@pytest.mark.usefixtures("engine")
def test_then_an_ollama_that_runs(folder, monkeypatch):
    here(folder)
    with WireServer() as server:
        server.tags = {"models": [{"name": "qwen3:8b"}]}
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert usual() == "ollama:qwen3:8b"


@pytest.mark.usefixtures("engine")
def test_then_the_local_one_if_it_is_here(folder):
    with pytest.raises(UnknownModel, match=r"Set TREADLE_MODEL.* treadle models pull qwen2\.5-coder-1\.5b$"):
        usual()
    here(folder)
    assert usual() == "llamacpp:qwen2.5-coder-1.5b"


def test_without_its_engine_it_cannot_be_used(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    here(folder)
    with pytest.raises(UnknownModel, match=r"pip install 'treadle\[local\]' && treadle models pull"):
        usual()
