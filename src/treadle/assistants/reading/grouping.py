"""Assign every part to exactly one group: first by what was claimed for a group, then by affinity. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle.assistants.reading.file_parts import FilePart
from treadle.assistants.reading.part_graph import NEIGHBOUR, Graph
from treadle.assistants.reading.reading_types import Range

UNASSIGNED = -1


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
