"""Vectors hashed from the words of a text, without any model: for tests, and where nothing else is installed.

Texts are near each other as far as they share words or prefixes of words. Meaning isn't represented.
"""

from collections.abc import Sequence
from re import findall
from zlib import crc32

from treadle.retrieval.embeddings.vectors import to_unit_vector

DIMENSION = 256


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
