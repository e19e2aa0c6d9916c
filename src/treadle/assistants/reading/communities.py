"""Communities in a graph: nodes that have more to do with each other than chance would have it (Louvain's method). Pure.

The same graph always gives the same communities: nodes are looked at in the order of their numbers.
"""

from collections.abc import Iterable

from treadle.assistants.reading.affinity import Graph

_PASSES = 20  # over all nodes; it settles long before


def communities(graph: Graph, nodes: Iterable[int]) -> dict[int, int]:
    """The community of each node, by the number of one of its members."""
    found = {node: node for node in nodes}
    while True:
        whole = _joined(graph, found)
        moved = _moved(whole)
        if all(group == place for group, place in moved.items()):
            return found
        found = {node: moved[group] for node, group in found.items()}


def _joined(graph: Graph, groups: dict[int, int]) -> Graph:
    """The graph between groups; what goes on inside of one is a line from it to itself."""
    whole: Graph = {group: {} for group in groups.values()}
    for node, group in groups.items():
        for other, weight in graph.get(node, {}).items():
            if other in groups:
                whole[group][groups[other]] = whole[group].get(groups[other], 0.0) + weight
    return whole


def _moved(graph: Graph) -> dict[int, int]:
    """Each node where it belongs most, moved one by one until none wants to move."""
    degrees = {node: sum(others.values()) for node, others in graph.items()}
    total = sum(degrees.values()) or 1.0
    groups, sums = {node: node for node in graph}, dict(degrees)
    for _ in range(_PASSES):
        settled = True
        for node in sorted(graph):
            here = groups[node]
            sums[here] -= degrees[node]
            best = _best(node, groups, graph[node], sums, degrees[node] / total)
            sums[best] += degrees[node]
            settled = settled and best == here
            groups[node] = best
        if settled:
            break
    return groups


def _best(node: int, groups: dict[int, int], others: dict[int, float], sums: dict[int, float], share: float) -> int:
    """The group that a node has more to do with than chance would have it, by the widest margin."""
    pulls = {groups[node]: 0.0}
    for other, weight in others.items():
        if other != node:
            pulls[groups[other]] = pulls.get(groups[other], 0.0) + weight
    return max(pulls, key=lambda group: (pulls[group] - share * sums[group], group == groups[node], -group))
