"""Detects a model that goes round in circles: the same call, or a cycle of calls, that brings nothing new; or calls of one tool
that, whatever their arguments, all bring the same error or the same empty result.

Pure bookkeeping over calls and results. A result that changed is new, so polling is no repetition.
"""

import re

from msgspec import Struct

MEMORY = 64  # how many calls back a cycle can be noticed
LONGEST_EMPTY = 220  # characters of a result that says that there is nothing
_EMPTY = re.compile(r"\s*(\[\]|\{\}|\"\"|null|((no|nothing|none|not found|0 (results|matches))\b[^\n]{0,200})?)\s*", re.IGNORECASE)


class Streak(Struct, frozen=True, gc=False):
    """The last calls of a tool that all had the same outcome: an error, or an empty result."""

    tool: str
    outcome: int
    failed: bool
    count: int = 1


class Trail(Struct, frozen=True, gc=False):
    """`steps`: recent calls with their results. `calls`: the calls alone. `stale`: those since something new came.

    `streaks`: of each tool, where its last call had an outcome that could be the start of one.
    """

    steps: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    streaks: tuple[Streak, ...] = ()


def fingerprint(name: str, encoded_arguments: bytes) -> int:
    """Return one number for a call; equal calls have equal numbers."""
    return hash((name, encoded_arguments))


def extend_trail(trail: Trail, call: int, content: str, tool: str = "", *, failed: bool = False) -> Trail:
    """Return the trail after a call of `tool` returned `content`."""
    step = hash((call, content))
    streaks = _extend_streaks(trail.streaks, tool, content, failed) if tool else trail.streaks
    if step in trail.steps:
        return Trail(trail.steps, trail.calls, (*trail.stale, call)[-MEMORY:], streaks)
    return Trail((*trail.steps, step)[-MEMORY:], (*trail.calls, call)[-MEMORY:], streaks=streaks)


def _extend_streaks(streaks: tuple[Streak, ...], tool: str, content: str, failed: bool) -> tuple[Streak, ...]:
    earlier = find_streak(streaks, tool)
    brings_nothing = failed or (len(content) <= LONGEST_EMPTY and _EMPTY.fullmatch(content) is not None)
    if earlier is None and not brings_nothing:
        return streaks
    others = tuple([each for each in streaks if each.tool != tool])
    if not brings_nothing:
        return others
    outcome = hash((failed, content))
    count = earlier.count + 1 if earlier is not None and earlier.outcome == outcome else 1
    return (*others, Streak(tool, outcome, failed, count))[-MEMORY:]


def find_streak(streaks: tuple[Streak, ...], tool: str) -> Streak | None:
    """Return the streak of a tool."""
    for each in streaks:
        if each.tool == tool:
            return each
    return None


def count_repetition(trail: Trail, call: int) -> int:
    """Return how many times in a row this call would bring nothing new: 1 for a fresh one."""
    if call not in trail.calls:
        return 1
    return 2 + trail.stale.count(call)
