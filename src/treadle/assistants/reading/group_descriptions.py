"""Descriptions of a file's groups by a small model: code decides what belongs together, the model puts it into words. Pure.

A small model that has to divide a file names a few definitions in each block and forgets the rest. Groups that use each other are
found in code as for a sketch; the model reads them one below the other, and says of each what it is for.
"""

import re
from collections.abc import Container, Iterator, Sequence
from typing import Any, Self, cast

from treadle.assistants.reading.answer_validation import (
    AnswerBlock,
    CheckedAnswer,
    build_block,
    make_ids_unique,
    normalize_line,
    parse_file_intent,
)
from treadle.assistants.reading.file_parts import FilePart, find_names_elsewhere
from treadle.assistants.reading.file_units import FileUnit, chosen_units, find_units, group_units, list_names, pick_named
from treadle.assistants.reading.grouping import LONGEST, SHORTEST, GroupClaim, build_affinity_graph, is_generic_label
from treadle.assistants.reading.outline.formatter import truncate_signature
from treadle.assistants.reading.reading_types import ResponsibilityBlock
from treadle.assistants.reading.source_files import OutlinedSource

GROUPED_NOTE = "Grouped by what uses what; the model has put the groups into words."
MOST_CHARS = 6_000  # of all groups; a small machine reads fifty tokens per second
_LEAST = 300  # characters of each group, however short its lines are
_DOC = 160  # characters of what a file or a definition says of itself
_METHODS = 12  # of a type
_UNNAMED = "code without a name"


class FileGroups:
    """The groups of a file, those first that begin first, each with the definitions that a text mentions.

    `keys` has a key for each: its number, which makes it unique, and its main definition, of which the model then speaks.
    """

    def __init__(self, source: OutlinedSource, units: Sequence[FileUnit], groups: Sequence[list[FilePart]]) -> None:
        self._source = source
        self._units = units
        self._groups = groups
        self._named = [pick_named(chosen_units(units, chosen)) for chosen in groups]
        self.keys = [_make_key(number, named) for number, named in enumerate(self._named, 1)]

    @classmethod
    def find(cls, source: OutlinedSource) -> Self | None:
        """Return the groups of a file; None if it has no definitions to group."""
        units = find_units(source.parts, source.language, opened=True)
        if not units:
            return None
        groups = group_units(source.parts, units, build_affinity_graph(source.parts))
        chosen = [[part for part in source.parts if groups[part.number] == group] for group in dict.fromkeys(groups)]
        return cls(source, units, chosen)

    def format_names(self) -> str:
        """Format the names in each group, for a model that reads the source itself."""
        lines: list[str] = []
        for key, named in zip(self.keys, self._named, strict=True):
            lines.append(f"{key}: {list_names([unit.name for unit in named]) if named else _UNNAMED}")
        return "\n".join(lines)

    def format_definitions(self, most: int = MOST_CHARS) -> str:
        """Format what is in each group, in about `most` characters; each gets its share of them, by its lines."""
        sizes = [sum([part.size for part in chosen]) for chosen in self._groups]
        said = " ".join(self._source.outline.doc.split())
        formatted = [f"# {truncate_signature(said, _DOC)}"] if said else []
        for key, named, size in zip(self.keys, self._named, sizes, strict=True):
            share = max(_LEAST, most * size // max(1, sum(sizes)))
            formatted.append("\n".join([f"{key}:", *_format_units(named, share)]))
        return "\n\n".join(formatted)

    def check(self, answer: object) -> CheckedAnswer:
        """Check an answer that describes these groups: a description for each, and a label if it is a good one."""
        given = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        parts = self._source.parts
        homes = {part.number: number for number, chosen in enumerate(self._groups) for part in chosen}
        elsewhere = find_names_elsewhere(parts, [homes[part.number] for part in parts])
        intent, problems = parse_file_intent(given.get("file_intent"))
        blocks, labels = list[ResponsibilityBlock](), set[str]()
        for number, (key, chosen) in enumerate(zip(self.keys, self._groups, strict=True)):
            said = _parse_description(given.get(key), labels)
            labels.add(said.label.lower())
            problems += [] if said.description else [f"{key} has no description."]
            blocks.append(build_block(said, chosen, self._units, parts, elsewhere[number]))
        return CheckedAnswer(intent, tuple(make_ids_unique(blocks)), tuple(problems), (GROUPED_NOTE,), 0.0)


def _make_key(number: int, named: Sequence[FileUnit]) -> str:
    main = named[0].name if named else ""
    return f"part_{number}_{main}" if re.fullmatch(r"\w+", main) else f"part_{number}"


def _format_units(named: Sequence[FileUnit], most: int) -> Iterator[str]:
    """Yield a line for each definition, the largest first, and one that counts those that there is no room for."""
    if not named:
        yield _UNNAMED
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


def _parse_description(given: object, labels: Container[str]) -> AnswerBlock:
    """Return what is said of a group, without a label that lists names, says nothing or is on another group: one is built then."""
    fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    label = normalize_line(fields.get("label"))
    useful = SHORTEST <= len(label.split()) <= LONGEST and "," not in label and not is_generic_label(label)
    kept = label if useful and label.lower() not in labels else ""
    return AnswerBlock(kept, normalize_line(fields.get("description")), GroupClaim(()))
