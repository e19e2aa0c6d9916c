"""A reading without a model: parts grouped by what uses what, the intent in the file's own words. It is called a sketch. Pure."""

from collections.abc import Sequence

from treadle.assistants.reading.affinity import Graph, affinity
from treadle.assistants.reading.check import MOST, Settled, named_after
from treadle.assistants.reading.communities import communities
from treadle.assistants.reading.grouping import NOBODY, attach, merge_down
from treadle.assistants.reading.outline.values import Outline
from treadle.assistants.reading.parts import Part, elements_of, names_in, ranges_of
from treadle.assistants.reading.values import Block
from treadle.assistants.reading.words import kebab

_LARGE = 0.4  # the share of a file from which on a class is taken apart
NOTE = "A sketch, made without a model: grouped by what uses what, in the file's own words."


def sketch(outline: Outline, parts: Sequence[Part]) -> Settled:
    """What can be said of a file without a model."""
    groups = _grouped(parts, affinity(parts)) if parts else []
    blocks: list[Block] = []
    taken: set[str] = set()
    for group in dict.fromkeys(groups):
        chosen = [part for part in parts if groups[part.number] == group]
        label = _fresh(named_after(chosen, parts=parts), blocks)
        blocks.append(Block(kebab(label), label, _described(chosen), elements_of(chosen, taken=taken), ranges_of(parts, chosen)))
        taken |= names_in(blocks[-1].elements)
    return Settled(_intent(outline, parts), tuple(blocks), notes=(NOTE,))


def _intent(outline: Outline, parts: Sequence[Part]) -> str:
    if outline.doc:
        return "\n".join(outline.doc.strip().splitlines()[:4])
    at_top = [part for part in parts if part.defines and part.owner < 0 and part.elements]
    types_first = [part for part in at_top if part.node.kind != "method"] or at_top
    defined = list(dict.fromkeys([part.elements[0].name for part in types_first]))
    if not defined:
        return f"Runs top-level code in {outline.language}; it defines nothing."
    more = f" and {len(defined) - 4} more" if len(defined) > 4 else ""
    return f"Defines {', '.join(defined[:4])}{more}."


def _described(chosen: Sequence[Part]) -> str:
    """The own words of the largest part that has any, else what there is."""
    for part in sorted(chosen, key=lambda part: -part.size):
        words = part.node.doc or part.node.leading_comment
        if words:
            return words.strip().splitlines()[0]
    names = list(dict.fromkeys([part.node.name for part in chosen if part.node.name]))
    return f"Holds {', '.join(names[:4])}{' and others' if len(names) > 4 else ''}." if names else "Code that defines nothing."


def _fresh(label: str, blocks: Sequence[Block]) -> str:
    """A label that no block has yet."""
    taken = {block.label for block in blocks}
    return next(found for found in (label, *[f"{label} {number}" for number in range(2, 99)]) if found not in taken)


def _grouped(parts: Sequence[Part], graph: Graph) -> list[int]:
    """The group of each part: communities of what is defined, the small ones joined, everything else where it is used."""
    units = _units(parts)
    heads = {number: _unit(parts, number, units) for number in range(len(parts))}
    whole: Graph = {unit: {} for unit in units}
    for number, others in graph.items():
        for other, weight in others.items():
            one, two = heads[number], heads[other]
            if one != two and one in units and two in units:
                whole[one][two] = whole[one].get(two, 0.0) + weight
    found = communities(whole, sorted(units))
    if not found:
        return [0] * len(parts)
    groups = [found.get(heads[number], NOBODY) for number in range(len(parts))]
    return merge_down(_attached(groups, graph), [part.size for part in parts], graph, MOST)


def _attached(groups: list[int], graph: Graph) -> list[int]:
    """`attach`, which counts groups from 0, for groups that are called by one of their members."""
    order = {group: number for number, group in enumerate(sorted({*groups} - {NOBODY}))}
    return attach([order.get(group, NOBODY) for group in groups], graph)


def _units(parts: Sequence[Part]) -> set[int]:
    """What is grouped as a whole: definitions at the top. A class that is most of the file is taken apart."""
    lines = sum([part.size for part in parts]) or 1
    large = {part.number for part in parts if part.node.end - part.node.start + 1 > _LARGE * lines}
    return {part.number for part in parts if part.defines and (part.owner < 0 or part.owner in large)}


def _unit(parts: Sequence[Part], number: int, units: set[int]) -> int:
    """The unit that a part belongs to; its own number where there is none."""
    while number not in units and parts[number].owner >= 0:
        number = parts[number].owner
    return number
