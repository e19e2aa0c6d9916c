"""The map of a folder: its files with their definitions, ranked by references from other files, within a budget.

References are found by names, not by types: a bare name counts if the file imports it (or its language imports no
names), a qualified one after the name of the file or folder, and a member if it is called in a file that refers to
its class. If several files define a name, its references are divided among them.
"""

import re
from asyncio import to_thread
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from treadle import TreadleError
from treadle.assistants.reading.outline.languages import detect_language
from treadle.assistants.reading.outline.nodes import walk_nodes as walk_nodes
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.source import OutlinedSource
from treadle.assistants.reading.source_files import iter_source_files, open_workspace_source
from treadle.files import Workspace, printable_name

MOST_FILES = 2000  # that are outlined
BUDGET = 8_000  # characters
BUDGETS = (500, 20_000)  # at least and at most
_SIGNATURE = 120  # characters
_WORD = re.compile(r"(?P<member>(?:\.|::|->)\s*)?(?P<name>[^\W\d][\w$]*)(?P<call>\s*\()?")
_IMPORT = re.compile(r"^\s*(?:from\s+\S+\s+import|import|use)\b(.*)", re.MULTILINE)
_NO_NAMED_IMPORTS = frozenset(("go", "c", "cpp", "csharp", "java", "kotlin", "swift", "ruby", "php"))
_CALLED = "."  # stands before a name in the key of its count as a member that is called


ReferenceCounter = Counter[tuple[str, str]]  # of names, each with what stands before it


class MapDefinition(Struct, frozen=True):
    """A definition, and how often other files refer to its name. Members are prefixed with their class."""

    name: str
    kind: str
    signature: str
    line: int
    references: int


class MapFile(Struct, frozen=True):
    """A file with the definitions shown for it, in file order."""

    path: str
    references: int
    definitions: tuple[MapDefinition, ...]


class RepositoryMap(Struct, frozen=True):
    """The most referenced files first, within the budget, and how much is omitted."""

    files: tuple[MapFile, ...]
    omitted_files: int = 0
    omitted_definitions: int = 0
    unreadable_files: int = 0


async def map_repository(workspace: Workspace, outliner: Outliner, under: str = ".", budget: int = BUDGET) -> RepositoryMap:
    """Build the map of a folder's source files."""
    paths = await to_thread(lambda: list(iter_source_files(workspace, under)))
    words, defined = dict[str, ReferenceCounter](), dict[str, list[MapDefinition]]()
    for path in islice(paths, MOST_FILES):
        try:
            source = await open_workspace_source(workspace, path, outliner)
        except TreadleError:
            continue
        words[path], defined[path] = _count_references(source), _list_definitions(source)
    ranked = _rank_files(_count_files(words, defined))
    unread = min(len(paths), MOST_FILES) - len(defined)
    return fit_map(ranked, budget, unreadable=unread, beyond=len(paths) - unread - len(defined))


def _list_definitions(source: OutlinedSource) -> list[MapDefinition]:
    """Return the definitions of a file except fields, which the outline has."""
    return [
        MapDefinition(part.elements[0].name, part.node.kind, part.node.signature, part.start, 0)
        for part in source.parts
        if part.defines and part.elements and part.node.kind != "field"
    ]


def _count_references(source: OutlinedSource) -> ReferenceCounter:
    """Count a file's references: bare names, qualified names, and called members."""
    bound = {name for node in walk_nodes(source.outline.nodes) if node.imported is not None for name in node.imported.bound()}
    bound.update([word["name"] for line in _IMPORT.findall(source.text) for word in _WORD.finditer(line)])
    found, before = ReferenceCounter(), ""
    for word in _WORD.finditer(source.text):
        name = word["name"]
        if word["member"] is None:
            if name in bound or source.language in _NO_NAMED_IMPORTS:
                found[_bare_key(source.filename), name] += 1
        else:
            found[before, name] += 1
            found[_CALLED, name] += word["call"] is not None
        before = name
    return found


def _bare_key(path: str) -> str:
    """Return the key of an unqualified name: names of one language don't refer to another's."""
    return f".{detect_language(path)}"


def _reference_keys(path: str, name: str) -> list[tuple[str, str]]:
    """Return the keys by which other files refer to a file's top-level definition."""
    *_, folder, file = ("", *path.split("/"))
    return [(_bare_key(path), name), *[(before, name) for before in {file.partition(".")[0], folder} if before]]


def _count_files(words: Mapping[str, ReferenceCounter], defined: Mapping[str, Sequence[MapDefinition]]) -> list[MapFile]:
    """Return every file with the references to each of its definitions."""
    everywhere, own, definers, users = (
        ReferenceCounter(),
        ReferenceCounter(),
        ReferenceCounter(),
        dict[tuple[str, str], list[str]](),
    )
    for path, found in defined.items():
        everywhere.update(words[path])
        for key in words[path]:
            users.setdefault(key, []).append(path)
        for key in {key for each in found for key in _reference_keys(path, each.name)}:
            own[key] += words[path][key]
            definers[key] += 1

    def references(path: str, name: str) -> int:
        owner, _, member = name.rpartition(".")
        if not owner:
            return sum([(everywhere[key] - own[key]) // definers[key] for key in _reference_keys(path, name)])
        named = users.get((_bare_key(path), owner.rpartition(".")[2]), ())
        return sum([words[other][_CALLED, member] for other in named if other != path])

    files: list[MapFile] = []
    for path, found in defined.items():
        counts = {each.name: references(path, each.name) for each in found}
        counted = [replace(each, references=counts[each.name]) for each in found]
        files.append(MapFile(printable_name(path), sum(counts.values()), tuple(counted)))
    return files


def _rank_files(files: Sequence[MapFile]) -> list[MapFile]:
    return sorted(files, key=lambda file: (-file.references, file.path))


def fit_map(ranked: Sequence[MapFile], budget: int, unreadable: int = 0, beyond: int = 0) -> RepositoryMap:
    """Fit ranked files into a budget of characters: the most referenced definitions, then bare paths. Pure."""
    order = {file.path: number for number, file in enumerate(ranked)}
    every = sorted(
        [(-each.references, order[file.path], each.line, file, each) for file in ranked for each in file.definitions],
        key=lambda row: row[:3],
    )
    chosen: dict[str, list[MapDefinition]] = {}
    left = budget
    for _, _, _, file, each in every:
        cost = len(_format_definition(each)) + 1 + (0 if file.path in chosen else len(_format_map_file(file)) + 1)
        if cost > left:
            break
        left -= cost
        chosen.setdefault(file.path, []).append(each)
    for file in ranked:
        if file.path not in chosen and (cost := len(_format_map_file(file)) + 1) <= left:
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


def format_map(found: RepositoryMap) -> str:
    """Format the map for a model: a line per file and definition, and what is omitted."""
    lines: list[str] = []
    for file in found.files:
        lines += [_format_map_file(file), *[_format_definition(each) for each in file.definitions]]
    if found.omitted_files or found.omitted_definitions:
        omitted = f"{found.omitted_definitions} definitions and {found.omitted_files} files"
        lines.append(f"[Left out: {omitted}. Map a folder beneath, or outline a file.]")
    if found.unreadable_files:
        lines.append(f"[Files that couldn't be read: {found.unreadable_files}.]")
    return "\n".join(lines) or "There are no source files here."


def _format_map_file(file: MapFile) -> str:
    return f"{file.path} ({file.references} references from other files)"


def _format_definition(each: MapDefinition) -> str:
    signature = each.signature if each.name in each.signature or "." not in each.name else f"{each.name}: {each.signature}"
    head = " ".join(signature.split())
    cut = head if len(head) <= _SIGNATURE else f"{head[: _SIGNATURE - 1]}…"
    return f"  {each.line} {cut} [{each.references}]"
