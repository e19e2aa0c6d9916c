"""Vectors from the words of a text alone, without any model: for tests, and where nothing else is installed.

Texts are near each other as far as they share words or beginnings of words. Meaning is not known here.
"""

from collections.abc import Sequence
from re import findall
from zlib import crc32

from treadle.models.embeddings.vectors import unit

DIMENSION = 256


class Hashed:
    """The embedder behind `hashed`."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.name = f"hashed:{dimension}"
        self.floor = 0.3
        self._dimension = dimension

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        numbers = [0.0] * self._dimension
        for word in findall(r"\w+", text.lower()):
            for part in {word, word[:5]}:
                code = crc32(part.encode("utf-8", "replace"))
                numbers[code % self._dimension] += 1.0 if code & 0x80000000 else -1.0
        return unit(numbers)
