"""The public names of retrieval, and the embedder that a setting names."""

import subprocess
import sys

import pytest

from treadle import passages
from treadle.core.errors import SettingsError
from treadle.retrieval.local_embeddings import is_builtin_installed


def test_every_public_name_is_there():
    for name in passages.__all__:
        assert getattr(passages, name) is not None
    assert dir(passages) == passages.__all__


def test_another_name_is_not():
    with pytest.raises(AttributeError, match="nothing"):
        _ = passages.nothing


def test_embedders_by_name():
    assert passages.embedder_of("none") is None
    assert passages.embedder_of("") is None
    assert (passages.embedder_of("auto") is not None) == is_builtin_installed()
    named = passages.embedder_of("openai:small", base_url="http://127.0.0.1:1/v1")
    assert named is not None
    assert named.name == "openai:small"


@pytest.mark.skipif(not is_builtin_installed(), reason="wordllama isn't installed")
def test_the_builtin_embedder_by_name():
    embedder = passages.embedder_of(" builtin ")
    assert embedder is not None
    assert embedder.name.startswith("builtin:")


@pytest.mark.parametrize("name", ["word2vec", "openai", "openai:", "builtin:x"])
def test_an_embedder_that_is_not_there_is_said_so(name):
    with pytest.raises(SettingsError, match="openai:MODEL"):
        passages.embedder_of(name)


def test_nothing_heavy_is_loaded_by_the_names():
    heavy = "numpy tokenizers sqlite3 pysqlite3 aiohttp yaml dataclasses"
    program = f"import sys, treadle.passages; print([name for name in {heavy.split()} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
