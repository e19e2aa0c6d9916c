"""Vectors as the file has them, and how near they are to a question's: here in plain Python, in `held` with numpy.

They are kept as small whole numbers, a byte each, which changes a cosine by less than a hundredth, and once more as their signs,
a bit each. Where there are many, the signs are compared first and only the best of them more closely.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest, nsmallest
from math import hypot
from operator import mul
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle.stores.passages.filters import Filter

if TYPE_CHECKING:
    from sqlite3 import Connection

EXACT = 4_000  # passages up to which all vectors are compared
LOOKED_AT = 500  # passages that are compared exactly, of more
AT_ONCE = 500  # passages whose vectors are read together

_SIGN = bytes(48 + (byte >> 7) for byte in range(256))  # a float's last byte begins with its sign; as the digits of a number


def signs(vector: bytes) -> bytes:
    """The signs of a vector's numbers, a bit each, filled up to whole bytes."""
    digits = vector[3::4].translate(_SIGN)
    return int(digits, 2).to_bytes((len(digits) + 7) // 8, "big")


def small(vector: bytes) -> bytes:
    """A vector as whole numbers from -127 to 127. Its length is lost, and only its direction is wanted."""
    numbers = array("f", vector)
    largest = max(map(abs, numbers), default=0.0) or 1.0
    return array("b", [round(number / largest * 127) for number in numbers]).tobytes()


def vectors_of(connection: "Connection", passages: Sequence[int], column: str = "vector") -> Iterator[list[tuple[int, bytes]]]:
    """The vectors of passages, or their `bits`, some at a time; those without one are left out."""
    table = "vectors" if column == "vector" else "signs"
    for start in range(0, len(passages), AT_ONCE):
        some = passages[start : start + AT_ONCE]
        query = f"SELECT passage, {column} FROM {table} WHERE passage IN ({','.join('?' * len(some))})"  # noqa: S608 - our own names
        yield connection.execute(query, some).fetchall()


class InFile(Struct, frozen=True):
    """The vectors of a file, compared in Python as they are read. For small stores, and where there is no numpy."""

    connection: "Connection"

    def nearest(self, vector: bytes, most: int, allowed: Filter) -> list[tuple[int, float]]:
        """The `most` nearest passages with their cosines, the nearest first."""
        query = f"SELECT passage, bits FROM signs WHERE 1{allowed.condition('passage')}"  # noqa: S608 - our own names
        rows: list[tuple[int, bytes]] = self.connection.execute(query, allowed.filling).fetchall()
        some = [passage for passage, _ in rows] if len(rows) <= EXACT else _roughly(vector, rows, max(LOOKED_AT, 4 * most))
        return nlargest(most, self.cosines(vector, some).items(), key=lambda one: (one[1], -one[0]))

    def cosines(self, vector: bytes, passages: Sequence[int]) -> dict[int, float]:
        """How nearly these passages' vectors point where this one does; those without a vector are left out."""
        wanted = array("b", small(vector))
        length = hypot(*wanted)
        found: dict[int, float] = {}
        for rows in vectors_of(self.connection, passages):
            for passage, other in rows:
                numbers = array("b", other)
                found[passage] = sum(map(mul, wanted, numbers)) / (length * hypot(*numbers) or 1.0)
        return found


def _roughly(vector: bytes, rows: Iterable[tuple[int, bytes]], most: int) -> list[int]:
    """The passages that have the most signs in common with a vector."""
    wanted, number = int.from_bytes(signs(vector)), int.from_bytes
    far = (((number(bits) ^ wanted).bit_count(), passage) for passage, bits in rows)
    return [passage for _, passage in nsmallest(most, far)]
