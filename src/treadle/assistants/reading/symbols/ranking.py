"""Ranks of files by PageRank over their references, biased to the files that a task is about. Pure."""

import re
from collections.abc import Mapping, Sequence

from treadle.assistants.reading.symbols.graph import ReferenceGraph

DAMPING = 0.85
ROUNDS = 30
_PRECISION = 1e-7
_NAMED_PATH, _NAMED_SYMBOL, _EDITED = 100.0, 30.0, 10.0  # times the weight of a file without any bias, at most
_RECENT = 3_600 * 1_000_000_000  # nanoseconds
_MAX_RECENT = 0.1  # of all files; if more are new, that says nothing about the task
_WORD = re.compile(r"[\w./\\-]*\w")


def rank_files(graph: ReferenceGraph, task: str, now: int) -> list[float]:
    """Return the rank of each file; they sum up to 1. `now` is the time in nanoseconds."""
    return page_rank(len(graph.paths), graph.edges, find_bias(graph, task, now))


def page_rank(count: int, edges: Sequence[tuple[int, int, float]], bias: Mapping[int, float]) -> list[float]:
    """Return the personalised PageRank of `count` nodes. `bias` has the weights of nodes where walks start more often."""
    if not count:
        return []
    total = count + sum(bias.values())
    start = [(1 + bias.get(node, 0.0)) / total for node in range(count)]
    leaving = [0.0] * count
    for source, _, weight in edges:
        leaving[source] += weight
    shares = [(source, target, weight / leaving[source]) for source, target, weight in edges]
    ends = [node for node in range(count) if not leaving[node]]
    rank = start
    for _ in range(ROUNDS):
        lost = sum([rank[node] for node in ends])
        following = [(1 - DAMPING + DAMPING * lost) * each for each in start]
        for source, target, share in shares:
            following[target] += DAMPING * rank[source] * share
        moved = sum([abs(old - new) for old, new in zip(rank, following, strict=True)])
        rank = following
        if moved < _PRECISION:
            break
    return rank


def find_bias(graph: ReferenceGraph, task: str, now: int) -> dict[int, float]:
    """Return the weights of the files that a task names, by path or by a definition, and of those that were edited just now."""
    bias: dict[int, float] = {}
    words = {word.replace("\\", "/") for word in _WORD.findall(task)}
    names = words | {part for word in words for part in re.split(r"[./-]", word)}
    for number, path in enumerate(graph.paths):
        name = path.rpartition("/")[2]
        if path in words or name in words or (len(name) > 6 and name.rpartition(".")[0] in names):
            bias[number] = _NAMED_PATH
    defining = {
        number: sum([each.qualified.rpartition(".")[2] in names for each in found if len(each.qualified) > 3])
        for number, found in enumerate(graph.definitions)
        if names
    }
    total = sum(defining.values())
    for number, found in defining.items():
        if found:
            bias[number] = bias.get(number, 0.0) + max(1.0, _NAMED_SYMBOL * min(1.0, 5 * found / total))
    recent = [number for number, changed in enumerate(graph.changed) if now - changed < _RECENT]
    if len(recent) <= _MAX_RECENT * len(graph.paths):
        for number in recent:
            bias[number] = bias.get(number, 0.0) + _EDITED
    scale = max(1.0, len(graph.paths) / 100)  # so that a task counts in a large folder as in a small one
    return {number: weight * scale for number, weight in bias.items()}
