"""The passages whose vectors point most nearly where a question's does. Exact for few; for many, in two steps.

Vectors are kept as small whole numbers, a byte each, which changes a cosine by less than a hundredth. Of many passages first the
signs are compared, a bit for each number, and then the best of those: thirty times less is read. Both steps are done by
sqlite-vec where it can be loaded, and in Python otherwise, over the same tables.
"""

from array import array
from collections.abc import Iterable, Sequence
from heapq import nlargest, nsmallest
from math import hypot
from operator import mul
from typing import TYPE_CHECKING

from treadle.stores.passages.filters import Filter

if TYPE_CHECKING:
    from sqlite3 import Connection

EXACT = 4_000  # passages up to which all vectors are compared
LOOKED_AT = 1_500  # passages that are compared exactly, of more; of the ten nearest of 45,000 that loses three in a hundred

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


def nearest(
    connection: "Connection", vector: bytes, most: int, allowed: Filter, passages: int, *, in_sqlite: bool
) -> list[tuple[int, float]]:
    """The `most` nearest passages of so many, with their cosines, the nearest first."""
    way = _nearest_in_sqlite if in_sqlite else _nearest_in_python
    return way(connection, vector, most, allowed, passages > EXACT)


def cosines(connection: "Connection", vector: bytes, passages: Sequence[int], *, in_sqlite: bool) -> dict[int, float]:
    """How nearly these passages' vectors point where this one does; those without a vector are left out."""
    found: dict[int, float] = {}
    wanted = small(vector)
    for start in range(0, len(passages), 500):
        some = passages[start : start + 500]
        there = f"FROM vectors WHERE passage IN ({','.join('?' * len(some))})"
        if in_sqlite:
            found.update(connection.execute(f"SELECT passage, {_COSINE} {there}", [wanted, *some]))
        else:
            found.update(_in_python(wanted, connection.execute(f"SELECT passage, vector {there}", some)))
    return found


_COSINE = "coalesce(1 - vec_distance_cosine(vec_int8(vector), vec_int8(?)), 0)"
_ORDER = "ORDER BY vec_distance_hamming(vec_bit(bits), vec_bit(?)) LIMIT ?"


def _nearest_in_sqlite(connection: "Connection", vector: bytes, most: int, allowed: Filter, many: bool) -> list[tuple[int, float]]:
    """In one statement: whatever else this process does isn't waited for in between."""
    condition, filling = allowed.condition("passage"), allowed.filling
    if many:
        condition = f" AND passage IN (SELECT passage FROM signs WHERE 1{condition} {_ORDER})"  # noqa: S608 - our own names
        filling = [*filling, signs(vector), max(LOOKED_AT, 4 * most)]
    query = f"SELECT passage, {_COSINE} AS cosine FROM vectors WHERE 1{condition} ORDER BY cosine DESC, passage LIMIT ?"  # noqa: S608 - our own names
    return connection.execute(query, [small(vector), *filling, most]).fetchall()


def _nearest_in_python(connection: "Connection", vector: bytes, most: int, allowed: Filter, many: bool) -> list[tuple[int, float]]:
    """The same without sqlite-vec, and with fewer looked at."""
    query = f"SELECT passage, bits FROM signs WHERE 1{allowed.condition('passage')}"  # noqa: S608 - our own names
    wanted, number = int.from_bytes(signs(vector)), int.from_bytes
    rows = connection.execute(query, allowed.filling)
    far = (((number(bits) ^ wanted).bit_count(), passage) for passage, bits in rows)
    some = nsmallest(max(LOOKED_AT // 3, 4 * most), far) if many else list(far)
    found = cosines(connection, vector, [passage for _, passage in some], in_sqlite=False)
    return nlargest(most, found.items(), key=lambda one: (one[1], -one[0]))


def _in_python(vector: bytes, rows: Iterable[tuple[int, bytes]]) -> Iterable[tuple[int, float]]:
    """The cosines of vectors."""
    wanted = array("b", vector)
    length = hypot(*wanted)
    for passage, other in rows:
        numbers = array("b", other)
        yield passage, sum(map(mul, wanted, numbers)) / (length * hypot(*numbers) or 1.0)
