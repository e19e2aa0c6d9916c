"""Groups of a file's parts: communities of its affinity graph, the assignment of every part to one, and labels. Pure.

Communities are found by Louvain's method; nodes are visited in the order of their numbers, so that the same graph always gives the
same communities. Every part is assigned to exactly one group: first by what was claimed for a group, then by affinity.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle.assistants.reading.file_parts import FilePart, node_names
from treadle.assistants.reading.reading_types import Range

SHORTEST, LONGEST = 2, 5  # words of a label
_LONG_NAME = 32  # characters
_GENERIC = re.compile(
    "misc|miscellaneous|helpers?|utils?|utility|utilities|others?|common|general|generic|various|stuff|things|remaining|rest|"
    "additional|extra|support|supporting"
)
_FILLER = re.compile("and|the|of|for|an?|in|functions?|code|methods?|class|classes|logic|module|parts?|main|core")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_EMPTY = re.compile("get|set|self|init|new|test|main|run|the|of|and|to|is|has|do|an?|.")  # words that say nothing in a name
MEMBER, NEIGHBOUR, IMPORT = 3.0, 0.1, 0.2
Graph = dict[int, dict[int, float]]  # by the numbers of two parts, in both directions
UNASSIGNED = -1


def is_generic_label(label: str) -> bool:
    """Return whether a label is too generic to say anything."""
    words = re.findall(r"\w+", label.lower())
    generic = [word for word in words if _GENERIC.fullmatch(word)]
    return not words or (bool(generic) and all(word in generic or _FILLER.fullmatch(word) for word in words))


def clean_label(label: str) -> str:
    """Return a label on one line, at most five words, without surrounding punctuation."""
    words = re.sub(r"\s+", " ", label).strip(" .:;-*`\"'#").split()
    kept = words[:LONGEST]
    while len(kept) > SHORTEST and _FILLER.fullmatch(kept[-1].lower()):
        kept.pop()
    return " ".join(kept)


def to_kebab_case(label: str) -> str:
    """Convert a label to an id."""
    return "-".join(re.findall(r"[^\W_]+", label.lower())) or "block"


def split_identifier(name: str) -> list[str]:
    """Split an identifier into words: `parseHTTPBody` and `parse_http_body` are parse, http, body."""
    return [piece.lower() for piece in _PIECES.findall(name)]


def find_shared_words(names: Sequence[str], everywhere: Sequence[str]) -> list[str]:
    """Return up to two words that at least half of these names share, those first that few names `everywhere` in the file have."""
    counts, all_counts = _count_words(names), _count_words(everywhere)
    ranked = sorted(counts, key=lambda word: -(counts[word] ** 2) / max(all_counts[word], counts[word]))
    everyones = {word for word, count in all_counts.items() if len(names) < len(everywhere) < 2 * count}
    return [word for word in ranked if counts[word] > 1 and counts[word] * 2 >= len(names) and word not in everyones][:2]


def shorten_name(name: str, everywhere: Sequence[str]) -> str:
    """Return a name as it is in a label: a long one without the words that most names `everywhere` have, its first three."""
    if len(name) <= _LONG_NAME:
        return "_".join(name.split())
    common = {word for word, count in _count_words(everywhere).items() if count * 2 > len(everywhere) > 1}
    words = split_identifier(name)
    return "-".join([word for word in words if word not in common][:3] or words[:3])


def _count_words(names: Iterable[str]) -> "Counter[str]":
    """Count how many names contain each word."""
    return Counter([word for name in names for word in dict.fromkeys(split_identifier(name)) if not _EMPTY.fullmatch(word)])


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


class GroupClaim(Struct, frozen=True):
    """Lines and parts (by number) that were claimed for a group."""

    ranges: tuple[Range, ...]
    parts: frozenset[int] = frozenset()

    def lines_of(self, part: FilePart) -> int:
        """Return how many lines of a part are claimed."""
        return sum([max(0, min(part.end, end) - max(part.start, start) + 1) for start, end in self.ranges])


def assign_groups(parts: Sequence[FilePart], claims: Sequence[GroupClaim]) -> list[int]:
    """Return the group of each part: one that names it, else the one that claims most of its lines, else `UNASSIGNED`."""
    return [_find_claim(part, claims) for part in parts]


def _find_claim(part: FilePart, claims: Sequence[GroupClaim]) -> int:
    lines = [claim.lines_of(part) for claim in claims]
    naming = [number for number, claim in enumerate(claims) if part.number in claim.parts]
    if naming:
        return max(naming, key=lambda number: (lines[number], -number))
    most = max(lines, default=0)
    return lines.index(most) if most > 0 else UNASSIGNED


def attach_unclaimed(groups: list[int], graph: Graph) -> list[int]:
    """Add unclaimed parts to the group they are most related to, else to the group of an adjacent part."""
    found = list(groups)
    for least in (3 * NEIGHBOUR, 0.0):  # what uses what goes before what stands where
        while _attach_some(found, graph, least):
            pass
    return [max(group, 0) for group in found]


def _attach_some(found: list[int], graph: Graph, least: float) -> bool:
    attached = False
    for number, group in enumerate(found):
        if group == UNASSIGNED:
            nearest, pull = _strongest_group(number, found, graph)
            if pull > least:
                found[number], attached = nearest, True
    return attached


def _strongest_group(number: int, groups: Sequence[int], graph: Graph) -> tuple[int, float]:
    """Return the group that a part is most related to, and how strongly."""
    pulls: dict[int, float] = {}
    for other, weight in graph.get(number, {}).items():
        if groups[other] != UNASSIGNED:
            pulls[groups[other]] = pulls.get(groups[other], 0.0) + weight
    if not pulls:
        return UNASSIGNED, 0.0
    return max(pulls.items(), key=lambda item: (item[1], -item[0]))


def merge_smallest_groups(groups: list[int], sizes: Sequence[int], graph: Graph, most: int) -> list[int]:
    """Reduce to at most `most` groups: the smallest joins the one it is most related to."""
    found = list(groups)
    while len({*found}) > most:
        totals: dict[int, int] = {}
        for group, size in zip(found, sizes, strict=True):
            totals[group] = totals.get(group, 0) + size
        smallest = min(totals, key=lambda group: (totals[group], group))
        target = _nearest_group(smallest, found, graph, totals)
        found = [target if group == smallest else group for group in found]
    return found


def _nearest_group(group: int, groups: Sequence[int], graph: Graph, totals: Iterable[int]) -> int:
    pulls: dict[int, float] = dict.fromkeys(totals, 0.0)
    for number, mine in enumerate(groups):
        if mine == group:
            for other, weight in graph.get(number, {}).items():
                pulls[groups[other]] += weight
    del pulls[group]
    return max(pulls, key=lambda other: (pulls[other], -other))
