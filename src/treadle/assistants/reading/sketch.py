"""A reading without a model, called a sketch: units grouped by references, described in the file's own words. Pure."""

from collections.abc import Sequence

from treadle.assistants.reading.answer_validation import CheckedAnswer
from treadle.assistants.reading.file_parts import FilePart, collect_elements, find_names_elsewhere, part_ranges
from treadle.assistants.reading.file_units import FileUnit, describe_largest, describe_units, find_units, group_units, label_units
from treadle.assistants.reading.labels import to_kebab_case
from treadle.assistants.reading.outline.comments import as_sentence, first_sentence
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.part_graph import build_affinity_graph
from treadle.assistants.reading.reading_types import ResponsibilityBlock

NOTE = "A sketch, made without a model: grouped by what uses what, in the file's own words."


def sketch_outline(outline: Outline, parts: Sequence[FilePart]) -> CheckedAnswer:
    """Describe a file without a model."""
    units = find_units(parts, outline.language, opened=True)
    groups = group_units(parts, units, build_affinity_graph(parts))
    blocks: list[ResponsibilityBlock] = []
    elsewhere = find_names_elsewhere(parts, groups)
    for group in dict.fromkeys(groups):
        chosen = [part for part in parts if groups[part.number] == group]
        mine = [unit for unit in units if groups[unit.parts[0]] == group]
        label = _unused_label(label_units(mine, units), blocks)
        elements = collect_elements(chosen, taken=elsewhere[group])
        blocks.append(
            ResponsibilityBlock(to_kebab_case(label), label, describe_units(mine, label), elements, part_ranges(parts, chosen))
        )
    return CheckedAnswer(_derive_intent(outline, find_units(parts, outline.language)), tuple(blocks), notes=(NOTE,))


def _derive_intent(outline: Outline, units: Sequence[FileUnit]) -> str:
    """Return the first sentence of the file's own documentation, else what its largest public definition says."""
    said = as_sentence(first_sentence(outline.doc)) or describe_largest(units)
    return said or f"Runs top-level code in {outline.language}; it defines nothing."


def _unused_label(label: str, blocks: Sequence[ResponsibilityBlock]) -> str:
    """Return a label that no block has yet."""
    taken = {block.label for block in blocks}
    return next(found for found in (label, *[f"{label} {number}" for number in range(2, 99)]) if found not in taken)
