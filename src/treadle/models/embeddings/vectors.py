"""Vectors as bytes: float32, of length one. No numpy, so that a server's embeddings need none."""

from array import array
from collections.abc import Sequence
from math import isfinite, sqrt


def unit(numbers: Sequence[float]) -> bytes:
    """The vector of length one that points the same way; one without a direction stays nothing but zeros."""
    length = sqrt(sum(number * number for number in numbers))
    if not isfinite(length) or length == 0.0:
        return bytes(4 * len(numbers))
    return array("f", [number / length for number in numbers]).tobytes()
