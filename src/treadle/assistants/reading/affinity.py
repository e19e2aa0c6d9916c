"""How strongly the parts of a file belong together: what uses what, what is a member of what, what stands side by side. Pure."""

from collections import defaultdict
from collections.abc import Sequence

from treadle.assistants.reading.parts import Part, names_of

MEMBER, NEIGHBOUR, IMPORT = 3.0, 0.1, 0.2
Graph = dict[int, dict[int, float]]  # by the numbers of two parts, in both directions


def affinity(parts: Sequence[Part]) -> Graph:
    """How much each part has to do with others; what many use says little about any one of them."""
    graph: Graph = defaultdict(dict)
    homes = _homes(parts)
    users = _users(parts, homes)
    for home, using in users.items():
        weight = (1.0 if parts[home].defines else IMPORT) / len(using) ** 0.5
        for user in using:
            _join(graph, home, user, weight)
    for part in parts:
        if part.owner >= 0:
            _join(graph, part.number, part.owner, MEMBER)
        if part.number + 1 < len(parts):
            _join(graph, part.number, part.number + 1, NEIGHBOUR)
    return graph


def _homes(parts: Sequence[Part]) -> dict[str, int]:
    """Where each name is at home; of several with one name, the outermost and first."""
    homes: dict[str, int] = {}
    for part in sorted(parts, key=lambda part: (part.owner >= 0, part.number)):
        for name in names_of(part.node):
            homes.setdefault(name, part.number)
    return homes


def _users(parts: Sequence[Part], homes: dict[str, int]) -> dict[int, list[int]]:
    """Which parts use each part. What a class uses is told by its members, where it has any."""
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


def _join(graph: Graph, one: int, other: int, weight: float) -> None:
    graph[one][other] = graph[other][one] = graph[one].get(other, 0.0) + weight
