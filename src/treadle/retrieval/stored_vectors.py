"""Stored vectors and their similarity to a query's: here in plain Python, in `vector_index` with numpy.

They are quantized to one byte per number, which changes a cosine by less than a hundredth, and stored once more as their
signs, one bit each. Where there are many, the signs are compared first and only the best of them exactly.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest, nsmallest
from math import hypot
from operator import mul
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle.retrieval.query import TagFilter

if TYPE_CHECKING:
    from sqlite3 import Connection

EXACT_LIMIT = 4_000  # passages up to which all vectors are compared
CANDIDATES = 500  # passages that are compared exactly, of more
BATCH = 500  # passages whose vectors are read together

_SIGN = bytes(48 + (byte >> 7) for byte in range(256))  # a float's last byte begins with its sign; as the digits of a number


def pack_signs(vector: bytes) -> bytes:
    """Pack the signs of a vector's numbers, one bit each, padded to whole bytes."""
    digits = vector[3::4].translate(_SIGN)
    return int(digits, 2).to_bytes((len(digits) + 7) // 8, "big")


def quantize(vector: bytes) -> bytes:
    """Quantize a vector to integers from -127 to 127. Its length is lost; only its direction is used."""
    numbers = array("f", vector)
    largest = max(map(abs, numbers), default=0.0) or 1.0
    return array("b", [round(number / largest * 127) for number in numbers]).tobytes()


def load_vectors(connection: "Connection", passages: Sequence[int], column: str = "vector") -> Iterator[list[tuple[int, bytes]]]:
    """Yield the vectors of passages, or their `bits`, in batches; those without one are left out."""
    table = "vectors" if column == "vector" else "signs"
    for start in range(0, len(passages), BATCH):
        some = passages[start : start + BATCH]
        query = f"SELECT passage, {column} FROM {table} WHERE passage IN ({','.join('?' * len(some))})"  # noqa: S608 - our own names
        yield connection.execute(query, some).fetchall()


class FileVectors(Struct, frozen=True):
    """The vectors of a file, compared in Python as they are read. For small stores, and where numpy isn't installed."""

    connection: "Connection"

    def nearest(self, vector: bytes, most: int, allowed: TagFilter) -> list[tuple[int, float]]:
        """Return the `most` nearest passages with their cosines, nearest first."""
        query = f"SELECT passage, bits FROM signs WHERE 1{allowed.condition('passage')}"  # noqa: S608 - our own names
        rows: list[tuple[int, bytes]] = self.connection.execute(query, allowed.filling).fetchall()
        some = [passage for passage, _ in rows] if len(rows) <= EXACT_LIMIT else _preselect(vector, rows, max(CANDIDATES, 4 * most))
        return nlargest(most, self.cosines(vector, some).items(), key=lambda one: (one[1], -one[0]))

    def cosines(self, vector: bytes, passages: Sequence[int]) -> dict[int, float]:
        """Return the cosines of these passages; those without a vector are left out."""
        wanted = array("b", quantize(vector))
        length = hypot(*wanted)
        found: dict[int, float] = {}
        for rows in load_vectors(self.connection, passages):
            for passage, other in rows:
                numbers = array("b", other)
                found[passage] = sum(map(mul, wanted, numbers)) / (length * hypot(*numbers) or 1.0)
        return found


def _preselect(vector: bytes, rows: Iterable[tuple[int, bytes]], most: int) -> list[int]:
    """Return the passages with the most signs in common with a vector."""
    wanted, number = int.from_bytes(pack_signs(vector)), int.from_bytes
    far = (((number(bits) ^ wanted).bit_count(), passage) for passage, bits in rows)
    return [passage for _, passage in nsmallest(most, far)]
