"""Descriptions of a file's groups by a small model: code decides what belongs together, the model puts it into words. Pure.

A small model that has to divide a file names a few definitions in each block and forgets the rest. Groups that use each other are
found in code as for a sketch; the model reads them one below the other, and says of each what it is for.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, cast

from treadle.assistants.reading.answer_validation import (
    AnswerBlock,
    CheckedAnswer,
    build_block,
    make_ids_unique,
    normalize_text,
    parse_intent,
)
from treadle.assistants.reading.file_parts import FilePart, find_names_elsewhere
from treadle.assistants.reading.file_units import FileUnit, chosen_units, find_units, group_units, list_names, pick_named
from treadle.assistants.reading.grouping import LONGEST, SHORTEST, GroupClaim, build_affinity_graph, is_generic_label
from treadle.assistants.reading.outline.formatter import truncate_signature
from treadle.assistants.reading.reading_types import ResponsibilityBlock
from treadle.assistants.reading.source_files import OutlinedSource

GROUPED_NOTE = "Grouped by what uses what; the model has put the groups into words."
GROUPS_CHARS = 6_000  # of all groups; a small machine reads fifty tokens per second
_LEAST = 300  # characters of each group, however short its lines are
_DOC = 160  # characters of what a file or a definition says of itself
_METHODS = 12  # of a type


def find_groups(source: OutlinedSource) -> list[list[FilePart]]:
    """Return the groups of a file, those first that begin first; none where a file has no definitions to group."""
    units = find_units(source.parts, source.language, opened=True)
    if not units:
        return []
    groups = group_units(source.parts, units, build_affinity_graph(source.parts))
    return [[part for part in source.parts if groups[part.number] == group] for group in dict.fromkeys(groups)]


def name_groups(source: OutlinedSource, groups: Sequence[Sequence[FilePart]]) -> list[str]:
    """Return a key for each group: its number, which makes it unique, and its main definition, of which the model then speaks."""
    units = find_units(source.parts, source.language, opened=True)
    mains = [next((unit.name for unit in pick_named(chosen_units(units, chosen))), "") for chosen in groups]
    return [f"part_{number}_{main}" if re.fullmatch(r"\w+", main) else f"part_{number}" for number, main in enumerate(mains, 1)]


def format_group_names(source: OutlinedSource, groups: Sequence[Sequence[FilePart]]) -> str:
    """Format the names in each group, for a model that reads the source itself."""
    units = find_units(source.parts, source.language, opened=True)
    lines: list[str] = []
    for key, chosen in zip(name_groups(source, groups), groups, strict=True):
        names = [unit.name for unit in pick_named(chosen_units(units, chosen))]
        lines.append(f"{key}: {list_names(names) if names else 'top-level code'}")
    return "\n".join(lines)


def format_groups(source: OutlinedSource, groups: Sequence[Sequence[FilePart]], most: int) -> str:
    """Format what is in each group, in about `most` characters; each gets its share of them, by its lines."""
    units = find_units(source.parts, source.language, opened=True)
    sizes = [sum([part.size for part in chosen]) for chosen in groups]
    said = " ".join(source.outline.doc.split())
    formatted = [f"# {truncate_signature(said, _DOC)}"] if said else []
    for key, chosen, size in zip(name_groups(source, groups), groups, sizes, strict=True):
        share = max(_LEAST, most * size // max(1, sum(sizes)))
        formatted.append("\n".join([f"{key}:", *_format_units(pick_named(chosen_units(units, chosen)), share)]))
    return "\n\n".join(formatted)


def _format_units(named: Sequence[FileUnit], most: int) -> Iterator[str]:
    """Yield a line for each definition, the largest first, and one that counts those that there is no room for."""
    if not named:
        yield "code that runs when the file is loaded"
    for number, unit in enumerate(named):
        line = _format_unit(unit)
        most -= len(line)
        if most < 0 and number:
            yield f"… and {list_names([unit.name for unit in named[number:]])}"
            return
        yield line


def _format_unit(unit: FileUnit) -> str:
    """Format a definition: its documentation, or else its signature; of a type its methods too."""
    said = (
        f"{unit.kind} {unit.name}: {truncate_signature(unit.doc, _DOC)}"
        if unit.doc
        else truncate_signature(unit.node.signature, _DOC)
    )
    methods = list(unit.methods[:_METHODS])
    more = [f"{len(unit.methods) - _METHODS} more"] if len(unit.methods) > _METHODS else []
    return f"{said} (methods {', '.join([*methods, *more])})" if unit.is_type and methods else said


def check_group_descriptions(source: OutlinedSource, groups: Sequence[Sequence[FilePart]]) -> Callable[[object], CheckedAnswer]:
    """Return the check of an answer that describes these groups: a description for each, and a label if it is a good one."""
    keys = name_groups(source, groups)
    units = find_units(source.parts, source.language, opened=True)
    homes = {part.number: number for number, chosen in enumerate(groups) for part in chosen}
    elsewhere = find_names_elsewhere(source.parts, [homes[part.number] for part in source.parts])

    def check(answer: object) -> CheckedAnswer:
        given = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        intent, problems = parse_intent(given.get("file_intent"))
        blocks, labels = list[ResponsibilityBlock](), set[str]()
        for number, (key, chosen) in enumerate(zip(keys, groups, strict=True)):
            said = _parse_description(given.get(key), labels)
            labels.add(said.label.lower())
            problems += [] if said.description else [f"{key} has no description."]
            blocks.append(build_block(said, list(chosen), units, source.parts, elsewhere[number]))
        return CheckedAnswer(intent, tuple(make_ids_unique(blocks)), tuple(problems), (GROUPED_NOTE,), 0.0)

    return check


def _parse_description(given: object, labels: Container[str]) -> AnswerBlock:
    """Return what is said of a group. A label that lists names, says nothing or is on another group is dropped: one is built then."""
    fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    label = normalize_text(fields.get("label"))
    useful = SHORTEST <= len(label.split()) <= LONGEST and "," not in label and not is_generic_label(label)
    kept = label if useful and label.lower() not in labels else ""
    return AnswerBlock(kept, normalize_text(fields.get("description")), GroupClaim(()))
