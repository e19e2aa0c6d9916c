"""Embeddings without a server: by the built-in model from a wheel, or hashed from the words of a text.

The built-in model is WordLlama: 256 numbers for each of 32,000 tokens, averaged over a text. Only the files of its package are
used, and none of its code: that would ask the hub for a tokenizer which lies beside it, and set up logging for the whole
program. Nothing is ever downloaded. Vectors are bytes: float32, of length one, made without numpy where a server sends them.
"""

import asyncio
import json
import threading
from array import array
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from math import isfinite, sqrt
from pathlib import Path
from re import findall
from typing import TYPE_CHECKING, Any
from zlib import crc32

from treadle.core.errors import SettingsError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from tokenizers import Tokenizer


DIMENSION = 256  # of a hashed vector
MAX_TEXT = 8_000  # characters of a text that are read: the rest of a longer one says nothing new
BATCH_SIZE = 64  # texts; so many are in memory as tokens

_WEIGHTS = Path("weights") / "l2_supercat_256.safetensors"
_TOKENIZER = Path("tokenizers") / "l2_supercat_tokenizer_config.json"
_MISSING = "The built-in embeddings need packages that aren't here: pip install 'treadle[retrieval]'."

_loading = threading.Lock()  # several threads that need the model at once load it once


def to_unit_vector(numbers: Sequence[float]) -> bytes:
    """Return the normalized vector; a zero vector stays zero."""
    length = sqrt(sum(number * number for number in numbers))
    if not isfinite(length) or length == 0.0:
        return bytes(4 * len(numbers))
    return array("f", [number / length for number in numbers]).tobytes()


class HashedEmbedder:
    """The embedder behind `hashed`."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.name = f"hashed:{dimension}"
        self.floor = 0.3
        self._dimension = dimension

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text."""
        return [self._hash_text(text) for text in texts]

    def _hash_text(self, text: str) -> bytes:
        numbers = [0.0] * self._dimension
        for word in findall(r"\w+", text.lower()):
            for part in {word, word[:5]}:
                code = crc32(part.encode("utf-8", "replace"))
                numbers[code % self._dimension] += 1.0 if code & 0x80000000 else -1.0
        return to_unit_vector(numbers)


class BuiltinEmbedder:
    """The embedder behind `builtin`. Loaded on first use; one is enough for a process."""

    name = "builtin:wordllama-l2-256"
    floor = 0.27  # measured: questions that a set of pages answers have more, others less

    def __init__(self) -> None:
        self._folder = _find_package_folder()

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text."""
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> list[bytes]:
        with _loading:
            tokenizer, weights = _model(self._folder)
        vectors: list[bytes] = []
        for start in range(0, len(texts), BATCH_SIZE):
            some = [_clean_text(text) for text in texts[start : start + BATCH_SIZE]]
            ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in some]
            vectors += [row.tobytes() for row in _average_vectors(weights, ids)]
        return vectors


def _clean_text(text: str) -> str:
    """Return text that the tokenizer accepts: no lone surrogates, and not too long."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode()


def _average_vectors(weights: "NDArray[float32]", ids: Sequence[Sequence[int]]) -> "NDArray[float32]":
    """Return the normalized average of each text's tokens; zeros for a text without any."""
    import numpy as np

    averages = np.zeros((len(ids), weights.shape[1]), dtype=np.float32)
    for row, tokens in zip(averages, ids, strict=True):
        if tokens:
            row[:] = weights[np.asarray(tokens)].sum(axis=0)
    lengths = np.linalg.norm(averages, axis=1, keepdims=True)
    return averages / np.where(lengths > 0, lengths, 1.0).astype(np.float32)


def is_builtin_installed() -> bool:
    """Return whether all required packages are installed."""
    return all(find_spec(name) is not None for name in ("wordllama", "numpy", "tokenizers"))


def _find_package_folder() -> Path:
    """Return the package's folder. The package isn't imported."""
    found = find_spec("wordllama") if is_builtin_installed() else None
    if found is None or not found.submodule_search_locations:
        raise SettingsError(_MISSING)
    folder = Path(found.submodule_search_locations[0])
    if not (folder / _WEIGHTS).is_file() or not (folder / _TOKENIZER).is_file():
        raise SettingsError("The installed wordllama has no weights inside: pip install --force-reinstall 'wordllama>=0.4'.")
    return folder


@cache
def _model(folder: Path) -> "tuple[Tokenizer, NDArray[float32]]":
    return _load_tokenizer(folder / _TOKENIZER), _load_weights(folder / _WEIGHTS)


def _load_tokenizer(file: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _load_weights(file: Path) -> "NDArray[float32]":
    """Load the table of a safetensors file: a length, a JSON header, then the numbers, in half precision."""
    import numpy as np

    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    head: dict[str, Any] = json.loads(data[8:start])
    table = head["embedding.weight"]
    begin, end = (start + int(offset) for offset in table["data_offsets"])
    return np.frombuffer(data[begin:end], dtype="<f2").astype(np.float32).reshape(table["shape"])
