"""The embedder inside its wheel: what it finds near, and that it never asks the network."""

import asyncio
import subprocess
import sys
from array import array

import pytest

from treadle.retrieval.local_embeddings import BuiltinEmbedder, is_builtin_installed

needs_wheel = pytest.mark.skipif(not is_builtin_installed(), reason="wordllama isn't installed")


def vectors(*texts):
    return [array("f", one) for one in asyncio.run(BuiltinEmbedder().embed(texts))]


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


@needs_wheel
def test_what_means_the_same_is_near_without_sharing_a_word():
    question, near, far = vectors(
        "Which doctor treats children?", "A paediatrician is a physician for kids.", "The train to Lyon leaves at noon."
    )
    assert cosine(question, near) > cosine(question, far) + 0.1


@needs_wheel
def test_vectors_have_length_one_and_nothing_has_none():
    *some, nothing = vectors("one", "two words", "\ud800 \0", "x" * 100_000, "")
    assert all(cosine(one, one) == pytest.approx(1.0, abs=1e-4) for one in some)
    assert len(nothing) == len(some[0]) == 256
    assert set(nothing) == {0.0}


@needs_wheel
def test_many_texts_give_what_each_gives_alone():
    texts = [f"text number {number}" for number in range(150)]
    together = asyncio.run(BuiltinEmbedder().embed(texts))
    assert together[149] == asyncio.run(BuiltinEmbedder().embed(texts[149:]))[0]


OFFLINE = """
import asyncio, logging, socket, sys

def refuse(*_, **__):
    raise AssertionError("the network was asked")

socket.getaddrinfo = socket.create_connection = refuse
socket.socket.connect = socket.socket.connect_ex = refuse
from treadle.retrieval.local_embeddings import BuiltinEmbedder
vectors = asyncio.run(BuiltinEmbedder().embed(["hello"]))
assert len(vectors[0]) == 1024
assert "wordllama" not in sys.modules and "requests" not in sys.modules
assert not logging.getLogger().handlers
"""


@needs_wheel
def test_it_works_without_network_and_without_the_package_s_own_code(tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": "", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", OFFLINE], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


LOADED_ONCE = """
import asyncio, sys
from treadle.retrieval.local_embeddings import BuiltinEmbedder
opened = []
sys.addaudithook(lambda event, given: event == "open" and opened.append(str(given[0])))
for _ in range(2):
    asyncio.run(BuiltinEmbedder().embed(["hello"]))
print(len([name for name in opened if name.endswith(".safetensors")]))
"""


@needs_wheel
def test_all_embedders_of_a_process_share_one_model():
    done = subprocess.run([sys.executable, "-c", LOADED_ONCE], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


MISSING = """
import sys
sys.modules["tokenizers"] = None
from treadle.retrieval.local_embeddings import BuiltinEmbedder, is_builtin_installed
assert not is_builtin_installed()
try:
    BuiltinEmbedder()
except Exception as error:
    print(type(error).__name__, error)
"""


def test_where_packages_are_missing_a_sentence_says_so():
    done = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("SettingsError ")
    assert "pip install 'treadle[retrieval]'" in done.stdout


def test_a_package_without_weights_is_said_so(tmp_path):
    for name in ("wordllama", "numpy", "tokenizers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + MISSING.replace(
        'sys.modules["tokenizers"] = None', ""
    ).replace("not is_builtin_installed", "is_builtin_installed")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "has no weights inside" in done.stdout
