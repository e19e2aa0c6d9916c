"""Every part into exactly one group: first by what was claimed for a group, then by what belongs together. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle.assistants.reading.affinity import NEIGHBOUR, Graph
from treadle.assistants.reading.parts import Part
from treadle.assistants.reading.values import Range

NOBODY = -1


class Claim(Struct, frozen=True):
    """What was said to belong to a group: lines, and parts by their numbers."""

    ranges: tuple[Range, ...]
    parts: frozenset[int] = frozenset()

    def lines_of(self, part: Part) -> int:
        """How many lines of a part it claims."""
        return sum([max(0, min(part.end, end) - max(part.start, start) + 1) for start, end in self.ranges])


def assign(parts: Sequence[Part], claims: Sequence[Claim]) -> list[int]:
    """The group of each part: one that names it, else the one that claims most of its lines, else none."""
    return [_claimed(part, claims) for part in parts]


def _claimed(part: Part, claims: Sequence[Claim]) -> int:
    lines = [claim.lines_of(part) for claim in claims]
    naming = [number for number, claim in enumerate(claims) if part.number in claim.parts]
    if naming:
        return max(naming, key=lambda number: (lines[number], -number))
    most = max(lines, default=0)
    return lines.index(most) if most > 0 else NOBODY


def attach(groups: list[int], graph: Graph) -> list[int]:
    """With the parts that nobody claimed added where they belong: to what they have most to do with, else to what stands beside."""
    found = list(groups)
    for least in (3 * NEIGHBOUR, 0.0):  # what uses what goes before what stands where
        while _attach_some(found, graph, least):
            pass
    return [max(group, 0) for group in found]


def _attach_some(found: list[int], graph: Graph, least: float) -> bool:
    attached = False
    for number, group in enumerate(found):
        if group == NOBODY:
            nearest, pull = _pull(number, found, graph)
            if pull > least:
                found[number], attached = nearest, True
    return attached


def _pull(number: int, groups: Sequence[int], graph: Graph) -> tuple[int, float]:
    """The group that a part has most to do with, and how much."""
    pulls: dict[int, float] = {}
    for other, weight in graph.get(number, {}).items():
        if groups[other] != NOBODY:
            pulls[groups[other]] = pulls.get(groups[other], 0.0) + weight
    if not pulls:
        return NOBODY, 0.0
    return max(pulls.items(), key=lambda item: (item[1], -item[0]))


def merge_down(groups: list[int], sizes: Sequence[int], graph: Graph, most: int) -> list[int]:
    """No more than `most` groups: the smallest joins the one it has most to do with."""
    found = list(groups)
    while len({*found}) > most:
        totals: dict[int, int] = {}
        for group, size in zip(found, sizes, strict=True):
            totals[group] = totals.get(group, 0) + size
        smallest = min(totals, key=lambda group: (totals[group], group))
        target = _nearest(smallest, found, graph, totals)
        found = [target if group == smallest else group for group in found]
    return found


def _nearest(group: int, groups: Sequence[int], graph: Graph, totals: Iterable[int]) -> int:
    pulls: dict[int, float] = dict.fromkeys(totals, 0.0)
    for number, mine in enumerate(groups):
        if mine == group:
            for other, weight in graph.get(number, {}).items():
                pulls[groups[other]] += weight
    del pulls[group]
    return max(pulls, key=lambda other: (pulls[other], -other))
