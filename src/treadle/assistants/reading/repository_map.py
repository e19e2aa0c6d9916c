"""The map of a folder: its files with their definitions, ranked by how often other files refer to their names, within a budget.

A reference is a word in the text of a file that doesn't define it, so a name in a comment counts too. Where several files define a
name, its references are divided among them.
"""

import re
from asyncio import to_thread
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec import Struct

from treadle import TreadleError
from treadle.assistants.reading.files import open_source_from, walk
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.source import Source
from treadle.files import Workspace, shown

MOST_FILES = 2000  # that are outlined
BUDGET = 8_000  # characters
_SIGNATURE = 120  # characters
_WORD = re.compile(r"[^\W\d][\w$]*")


class MapDefinition(Struct, frozen=True):
    """A definition, and how often other files refer to its name. Members have their class before their name."""

    name: str
    kind: str
    signature: str
    line: int
    references: int


class MapFile(Struct, frozen=True):
    """A file, with the definitions that are shown of it, in the order of the file."""

    path: str
    references: int
    definitions: tuple[MapDefinition, ...]


class RepositoryMap(Struct, frozen=True):
    """The files that are referred to most first, as far as the budget goes, and how much is left out."""

    files: tuple[MapFile, ...]
    omitted_files: int = 0
    omitted_definitions: int = 0
    unreadable_files: int = 0


async def map_repository(workspace: Workspace, outliner: Outliner, under: str = ".", budget: int = BUDGET) -> RepositoryMap:
    """The map of the source files in a folder."""
    paths = await to_thread(lambda: list(walk(workspace, under)))
    words, defined = dict[str, Counter[str]](), dict[str, list[MapDefinition]]()
    for path in islice(paths, MOST_FILES):
        try:
            source = await open_source_from(workspace, path, outliner)
        except TreadleError:
            continue
        words[path], defined[path] = Counter(_WORD.findall(source.text)), _definitions(source)
    ranked = _ranked(_counted(words, defined))
    unread = min(len(paths), MOST_FILES) - len(defined)
    return fitting(ranked, budget, unreadable=unread, beyond=len(paths) - unread - len(defined))


def _definitions(source: Source) -> list[MapDefinition]:
    """The definitions of a file, but for fields, which the outline has."""
    return [
        MapDefinition(part.elements[0].name, part.node.kind, part.node.signature, part.start, 0)
        for part in source.parts
        if part.defines and part.elements and part.node.kind != "field"
    ]


def _counted(words: Mapping[str, Counter[str]], defined: Mapping[str, Sequence[MapDefinition]]) -> list[MapFile]:
    """Every file, with the references to each of its definitions."""
    everywhere, definers = Counter[str](), dict[str, list[str]]()
    for path, found in defined.items():
        everywhere.update(words[path])
        for name in {_bare(each.name) for each in found}:
            definers.setdefault(name, []).append(path)
    elsewhere = {
        name: (everywhere[name] - sum([words[path][name] for path in paths])) // len(paths) for name, paths in definers.items()
    }
    files: list[MapFile] = []
    for path, found in defined.items():
        counted = [MapDefinition(each.name, each.kind, each.signature, each.line, elsewhere[_bare(each.name)]) for each in found]
        total = sum([elsewhere[name] for name in {_bare(each.name) for each in found}])
        files.append(MapFile(path, total, tuple(counted)))
    return files


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def _ranked(files: Sequence[MapFile]) -> list[MapFile]:
    return sorted(files, key=lambda file: (-file.references, file.path))


def fitting(ranked: Sequence[MapFile], budget: int, unreadable: int = 0, beyond: int = 0) -> RepositoryMap:
    """As much of ranked files as a budget of characters holds: the definitions that are referred to most, then bare paths. Pure."""
    order = {file.path: number for number, file in enumerate(ranked)}
    every = sorted(
        [(-each.references, order[file.path], each.line, file, each) for file in ranked for each in file.definitions],
        key=lambda row: row[:3],
    )
    chosen: dict[str, list[MapDefinition]] = {}
    left = budget
    for _, _, _, file, each in every:
        cost = len(_definition_line(each)) + 1 + (0 if file.path in chosen else len(_file_line(file)) + 1)
        if cost > left:
            break
        left -= cost
        chosen.setdefault(file.path, []).append(each)
    for file in ranked:
        if file.path not in chosen and (cost := len(_file_line(file)) + 1) <= left:
            left -= cost
            chosen[file.path] = []
    files = tuple(
        [
            MapFile(file.path, file.references, tuple(sorted(chosen[file.path], key=lambda each: each.line)))
            for file in ranked
            if file.path in chosen
        ]
    )
    shown_definitions = sum([len(file.definitions) for file in files])
    return RepositoryMap(files, len(ranked) - len(files) + beyond, len(every) - shown_definitions, unreadable)


def map_text(found: RepositoryMap) -> str:
    """The map for a model: a line for each file and each definition, and what is left out."""
    lines: list[str] = []
    for file in found.files:
        lines += [_file_line(file), *[_definition_line(each) for each in file.definitions]]
    if found.omitted_files or found.omitted_definitions:
        omitted = f"{found.omitted_definitions} definitions and {found.omitted_files} files"
        lines.append(f"[Left out: {omitted}. Map a folder beneath, or outline a file.]")
    if found.unreadable_files:
        lines.append(f"[Files that couldn't be read: {found.unreadable_files}.]")
    return "\n".join(lines) or "There are no source files here."


def _file_line(file: MapFile) -> str:
    return f"{shown(file.path)} ({file.references} references from other files)"


def _definition_line(each: MapDefinition) -> str:
    signature = each.signature if each.name in each.signature or "." not in each.name else f"{each.name}: {each.signature}"
    head = " ".join(signature.split())
    cut = head if len(head) <= _SIGNATURE else f"{head[: _SIGNATURE - 1]}…"
    return f"  {each.line} {cut} [{each.references}]"
