"""A reading without a model, called a sketch: parts grouped by references, the intent taken from the file's own comments. Pure."""

from collections.abc import Sequence

from treadle.assistants.reading.answer_validation import MOST, CheckedAnswer, derive_label
from treadle.assistants.reading.file_parts import FilePart, collect_elements, element_names, part_ranges
from treadle.assistants.reading.grouping import UNASSIGNED, attach_unclaimed, merge_smallest_groups
from treadle.assistants.reading.labels import to_kebab_case
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.part_graph import Graph, build_affinity_graph, find_communities
from treadle.assistants.reading.reading_types import ResponsibilityBlock

_LARGE = 0.4  # the share of a file from which on a class is taken apart
NOTE = "A sketch, made without a model: grouped by what uses what, in the file's own words."


def sketch_outline(outline: Outline, parts: Sequence[FilePart]) -> CheckedAnswer:
    """Describe a file without a model."""
    groups = _group_parts(parts, build_affinity_graph(parts)) if parts else []
    blocks: list[ResponsibilityBlock] = []
    taken: set[str] = set()
    for group in dict.fromkeys(groups):
        chosen = [part for part in parts if groups[part.number] == group]
        label = _unused_label(derive_label(chosen, parts=parts), blocks)
        blocks.append(
            ResponsibilityBlock(
                to_kebab_case(label),
                label,
                _describe_parts(chosen),
                collect_elements(chosen, taken=taken),
                part_ranges(parts, chosen),
            )
        )
        taken |= element_names(blocks[-1].elements)
    return CheckedAnswer(_derive_intent(outline, parts), tuple(blocks), notes=(NOTE,))


def _derive_intent(outline: Outline, parts: Sequence[FilePart]) -> str:
    if outline.doc:
        return "\n".join(outline.doc.strip().splitlines()[:4])
    at_top = [part for part in parts if part.defines and part.owner < 0 and part.elements]
    types_first = [part for part in at_top if part.node.kind != "method"] or at_top
    defined = list(dict.fromkeys([part.elements[0].name for part in types_first]))
    if not defined:
        return f"Runs top-level code in {outline.language}; it defines nothing."
    more = f" and {len(defined) - 4} more" if len(defined) > 4 else ""
    return f"Defines {', '.join(defined[:4])}{more}."


def _describe_parts(chosen: Sequence[FilePart]) -> str:
    """Return the documentation of the largest part that has any, else a list of what there is."""
    for part in sorted(chosen, key=lambda part: -part.size):
        words = part.node.doc or part.node.leading_comment
        if words:
            return words.strip().splitlines()[0]
    names = list(dict.fromkeys([part.node.name for part in chosen if part.node.name]))
    return f"Holds {', '.join(names[:4])}{' and others' if len(names) > 4 else ''}." if names else "Code that defines nothing."


def _unused_label(label: str, blocks: Sequence[ResponsibilityBlock]) -> str:
    """Return a label that no block has yet."""
    taken = {block.label for block in blocks}
    return next(found for found in (label, *[f"{label} {number}" for number in range(2, 99)]) if found not in taken)


def _group_parts(parts: Sequence[FilePart], graph: Graph) -> list[int]:
    """Return the group of each part: communities of definitions, small ones joined, everything else where it is used."""
    units = _find_units(parts)
    heads = {number: _unit_of(parts, number, units) for number in range(len(parts))}
    whole: Graph = {unit: {} for unit in units}
    for number, others in graph.items():
        for other, weight in others.items():
            one, two = heads[number], heads[other]
            if one != two and one in units and two in units:
                whole[one][two] = whole[one].get(two, 0.0) + weight
    found = find_communities(whole, sorted(units))
    if not found:
        return [0] * len(parts)
    groups = [found.get(heads[number], UNASSIGNED) for number in range(len(parts))]
    return merge_smallest_groups(_attach_groups(groups, graph), [part.size for part in parts], graph, MOST)


def _attach_groups(groups: list[int], graph: Graph) -> list[int]:
    """Call `attach_unclaimed`, which counts groups from 0, for groups that are named by one of their members."""
    order = {group: number for number, group in enumerate(sorted({*groups} - {UNASSIGNED}))}
    return attach_unclaimed([order.get(group, UNASSIGNED) for group in groups], graph)


def _find_units(parts: Sequence[FilePart]) -> set[int]:
    """Return what is grouped as a whole: top-level definitions. A class that is most of the file is split."""
    lines = sum([part.size for part in parts]) or 1
    large = {part.number for part in parts if part.node.end - part.node.start + 1 > _LARGE * lines}
    return {part.number for part in parts if part.defines and (part.owner < 0 or part.owner in large)}


def _unit_of(parts: Sequence[FilePart], number: int, units: set[int]) -> int:
    """Return the unit that a part belongs to; its own number if there is none."""
    while number not in units and parts[number].owner >= 0:
        number = parts[number].owner
    return number
