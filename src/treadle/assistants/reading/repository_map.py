"""The map of a folder: its files with their definitions, ranked by references from other files, within a budget.

The references are those of the symbol index. Files rank by PageRank, biased to those that a task names and to those that were
edited just now; a definition ranks by its share of the references to its file.
"""

import time
from collections.abc import Sequence

from msgspec import Struct

from treadle.assistants.reading.symbols.graph import GraphDefinition, ReferenceGraph
from treadle.assistants.reading.symbols.index import IndexState, SymbolIndex, format_pending
from treadle.assistants.reading.symbols.ranking import rank_files
from treadle.files import printable_name

BUDGET = 8_000  # characters
BUDGETS = (500, 20_000)  # at least and at most
CHARACTERS_PER_TOKEN = 4
_SIGNATURE = 120  # characters


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


class RankedFile(Struct, frozen=True):
    """A file with all its definitions, and its rank."""

    file: MapFile
    rank: float


class RepositoryMap(Struct, frozen=True):
    """The files of the highest rank first, within the budget, and how much is omitted.

    `pending_files` of `source_files` aren't indexed yet.
    """

    files: tuple[MapFile, ...]
    omitted_files: int = 0
    omitted_definitions: int = 0
    unreadable_files: int = 0
    pending_files: int = 0
    source_files: int = 0


async def map_repository(index: SymbolIndex, under: str = ".", budget: int = BUDGET, task: str = "") -> RepositoryMap:
    """Build the map of a folder's source files. `task` is what a user wants to do: what it names ranks higher."""
    graph, state = await index.graph(under or ".")
    return fit_map(_rank(graph, task), budget, graph.unreadable, state)


def _rank(graph: ReferenceGraph, task: str) -> list[RankedFile]:
    found: list[RankedFile] = []
    for path, definitions, rank in zip(graph.paths, graph.definitions, rank_files(graph, task, time.time_ns()), strict=True):
        references = sum([each.references for each in definitions])
        file = MapFile(printable_name(path), references, tuple([_to_map_definition(each) for each in definitions]))
        found.append(RankedFile(file, round(rank, 9)))
    return sorted(found, key=lambda each: (-each.rank, -each.file.references, each.file.path))


def _to_map_definition(each: GraphDefinition) -> MapDefinition:
    return MapDefinition(each.qualified, each.kind, each.signature, each.line, each.references)


def fit_map(
    ranked: Sequence[RankedFile],
    budget: int,
    unreadable: int = 0,
    state: IndexState = IndexState(0, 0),  # noqa: B008 - frozen
) -> RepositoryMap:
    """Fit ranked files into a budget of characters: the definitions of the highest rank, then bare paths. Pure."""
    every = sorted(
        [
            (-each.rank * (1 + definition.references) / (len(each.file.definitions) + each.file.references), number, definition)
            for number, each in enumerate(ranked)
            for definition in each.file.definitions
        ],
        key=lambda row: (row[0], row[1], row[2].line),
    )
    chosen: dict[int, list[MapDefinition]] = {}
    left = budget
    for _, number, each in every:
        cost = len(_format_definition(each)) + 1 + (0 if number in chosen else len(_format_map_file(ranked[number].file)) + 1)
        if cost > left:
            break
        left -= cost
        chosen.setdefault(number, []).append(each)
    for number, each in enumerate(ranked):
        if number not in chosen and (cost := len(_format_map_file(each.file)) + 1) <= left:
            left -= cost
            chosen[number] = []
    files = tuple(
        [
            MapFile(each.file.path, each.file.references, tuple(sorted(chosen[number], key=lambda shown: shown.line)))
            for number, each in enumerate(ranked)
            if number in chosen
        ]
    )
    shown_definitions = sum([len(file.definitions) for file in files])
    return RepositoryMap(files, len(ranked) - len(files), len(every) - shown_definitions, unreadable, state.pending, state.files)


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
    if pending := format_pending(IndexState(found.source_files, found.pending_files)):
        lines.append(pending)
    return "\n".join(lines) or "There are no source files here."


def _format_map_file(file: MapFile) -> str:
    return f"{file.path} ({file.references} references from other files)"


def _format_definition(each: MapDefinition) -> str:
    signature = each.signature if each.name in each.signature or "." not in each.name else f"{each.name}: {each.signature}"
    head = " ".join(signature.split())
    cut = head if len(head) <= _SIGNATURE else f"{head[: _SIGNATURE - 1]}…"
    return f"  {each.line} {cut} [{each.references}]"
