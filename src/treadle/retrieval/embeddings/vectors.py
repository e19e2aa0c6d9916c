"""Vectors as bytes: float32, of length one. Without numpy, so that a server's embeddings don't need it."""

from array import array
from collections.abc import Sequence
from math import isfinite, sqrt


def to_unit_vector(numbers: Sequence[float]) -> bytes:
    """Return the normalized vector; a zero vector stays zero."""
    length = sqrt(sum(number * number for number in numbers))
    if not isfinite(length) or length == 0.0:
        return bytes(4 * len(numbers))
    return array("f", [number / length for number in numbers]).tobytes()
