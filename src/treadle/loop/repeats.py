"""Detects a model that goes round in circles: the same call, or a cycle of calls, that brings nothing new.

Pure bookkeeping over calls and results. A result that changed is new, so polling is no repetition.
"""

from msgspec import Struct

MEMORY = 64  # how many calls back a cycle can be noticed


class Trail(Struct, frozen=True):
    """`steps`: recent calls with their results. `calls`: the calls alone. `stale`: those since something new came."""

    steps: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()


def fingerprint(name: str, encoded_arguments: bytes) -> int:
    """Return one number for a call; equal calls have equal numbers."""
    return hash((name, encoded_arguments))


def extend_trail(trail: Trail, call: int, content: str) -> Trail:
    """Return the trail after a call returned `content`."""
    step = hash((call, content))
    if step in trail.steps:
        return Trail(trail.steps, trail.calls, (*trail.stale, call)[-MEMORY:])
    return Trail((*trail.steps, step)[-MEMORY:], (*trail.calls, call)[-MEMORY:])


def count_repetition(trail: Trail, call: int) -> int:
    """Return how many times in a row this call would bring nothing new: 1 for a fresh one."""
    if call not in trail.calls:
        return 1
    return 2 + trail.stale.count(call)
