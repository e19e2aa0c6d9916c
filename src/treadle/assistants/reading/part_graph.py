"""Community detection in a graph by Louvain's method, after the affinity graph of a file's parts. Pure.

The same graph always gives the same communities: nodes are visited in the order of their numbers.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from treadle.assistants.reading.file_parts import FilePart, node_names

MEMBER, NEIGHBOUR, IMPORT = 3.0, 0.1, 0.2
Graph = dict[int, dict[int, float]]  # by the numbers of two parts, in both directions


def build_affinity_graph(parts: Sequence[FilePart]) -> Graph:
    """Return the graph of how strongly parts are related; a part that many others use adds little weight to each of them."""
    graph: Graph = defaultdict(dict)
    homes = _index_names(parts)
    users = _find_users(parts, homes)
    for home, using in users.items():
        weight = (1.0 if parts[home].defines else IMPORT) / len(using) ** 0.5
        for user in using:
            _add_edge(graph, home, user, weight)
    for part in parts:
        if part.owner >= 0:
            _add_edge(graph, part.number, part.owner, MEMBER)
        if part.number + 1 < len(parts):
            _add_edge(graph, part.number, part.number + 1, NEIGHBOUR)
    return graph


def _index_names(parts: Sequence[FilePart]) -> dict[str, int]:
    """Return the part that defines each name; of several with one name, the outermost and first."""
    homes: dict[str, int] = {}
    for part in sorted(parts, key=lambda part: (part.owner >= 0, part.number)):
        for name in node_names(part.node):
            homes.setdefault(name, part.number)
    return homes


def _find_users(parts: Sequence[FilePart], homes: dict[str, int]) -> dict[int, list[int]]:
    """Return which parts use each part. A class's references are counted through its members, where it has any."""
    heads = {part.owner for part in parts if part.owner >= 0}
    users: dict[int, list[int]] = defaultdict(list)
    for part in parts:
        if part.number in heads:
            continue
        for name in part.node.uses:
            home = homes.get(name, part.number)
            if home not in (part.number, part.owner):
                users[home].append(part.number)
    return users


def _add_edge(graph: Graph, one: int, other: int, weight: float) -> None:
    graph[one][other] = graph[other][one] = graph[one].get(other, 0.0) + weight


_PASSES = 20  # over all nodes; it settles long before


def find_communities(graph: Graph, nodes: Iterable[int]) -> dict[int, int]:
    """Return the community of each node, named by the number of one of its members."""
    found = {node: node for node in nodes}
    while True:
        whole = _merge_groups(graph, found)
        moved = _move_nodes(whole)
        if all(group == place for group, place in moved.items()):
            return found
        found = {node: moved[group] for node, group in found.items()}


def _merge_groups(graph: Graph, groups: dict[int, int]) -> Graph:
    """Return the graph between groups; edges inside a group become a self-loop."""
    whole: Graph = {group: {} for group in groups.values()}
    for node, group in groups.items():
        for other, weight in graph.get(node, {}).items():
            if other in groups:
                whole[group][groups[other]] = whole[group].get(groups[other], 0.0) + weight
    return whole


def _move_nodes(graph: Graph) -> dict[int, int]:
    """Move each node to the group it belongs to most, one by one, until no node moves."""
    degrees = {node: sum(others.values()) for node, others in graph.items()}
    total = sum(degrees.values()) or 1.0
    groups, sums = {node: node for node in graph}, dict(degrees)
    for _ in range(_PASSES):
        settled = True
        for node in sorted(graph):
            here = groups[node]
            sums[here] -= degrees[node]
            best = _best_group(node, groups, graph[node], sums, degrees[node] / total)
            sums[best] += degrees[node]
            settled = settled and best == here
            groups[node] = best
        if settled:
            break
    return groups


def _best_group(node: int, groups: dict[int, int], others: dict[int, float], sums: dict[int, float], share: float) -> int:
    """Return the group that a node is connected to more than by chance, by the widest margin."""
    pulls = {groups[node]: 0.0}
    for other, weight in others.items():
        if other != node:
            pulls[groups[other]] = pulls.get(groups[other], 0.0) + weight
    return max(pulls, key=lambda group: (pulls[group] - share * sums[group], group == groups[node], -group))
