"""Questions about a repository answered without a model: lines that match, where a name is defined, called or mentioned, a map.

References are found by names, not by types, in the symbol index. Files that may contain secrets are never opened.

The map has a folder's files with their definitions, within a budget. Files rank by PageRank over their references, biased to those
that a task names and to those that were edited just now; a definition ranks by its share of the references to its file.
"""

import time
from asyncio import to_thread
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from treadle import TreadleError
from treadle.assistants.reading.outline.source_text import decode_source, split_source_lines
from treadle.assistants.reading.source_files import load_workspace_file
from treadle.assistants.reading.symbols.extraction import ReferenceKind
from treadle.assistants.reading.symbols.graph import GraphDefinition, ReferenceGraph, rank_files
from treadle.assistants.reading.symbols.index import IndexState, RequestedKind, SymbolIndex, SymbolLocation, format_pending
from treadle.files import Workspace, printable_name
from treadle.workspace import Search

MOST_REFERENCES = 100
MOST_HITS = 100
_MOST_TEXT = 200  # characters of a line
MAP_BUDGET = 8_000  # characters
MAP_BUDGETS = (500, 20_000)  # at least and at most
CHARACTERS_PER_TOKEN = 4
_SIGNATURE = 120  # characters


class Reference(Struct, frozen=True):
    """A line that mentions a name, and the definition around it."""

    path: str
    line: int
    kind: ReferenceKind
    inside: str
    text: str


class References(Struct, frozen=True):
    """Result of a reference search: the references listed, their total number, and the number of any kind.

    `pending_files` of `source_files` aren't indexed yet.
    """

    name: str
    kind: RequestedKind
    references: tuple[Reference, ...]
    total: int
    any_total: int
    pending_files: int = 0
    source_files: int = 0


class TextHit(Struct, frozen=True):
    """A line that matches a pattern."""

    path: str
    line: int
    text: str


class TextHits(Struct, frozen=True):
    """Result of a text search. `complete` is false if there is more, or if it is `late`: the time limit was reached."""

    hits: tuple[TextHit, ...]
    complete: bool
    late: bool = False


async def search_text(
    workspace: Workspace, pattern: str, under: str = "", file_pattern: str = "", *, ignore_case: bool = False
) -> TextHits:
    """Return the lines that match a regular expression, in files of any kind."""
    globs = [file_pattern] if file_pattern else []
    found = await Search(workspace).grep(pattern, under or ".", globs, ignore_case=ignore_case, most=MOST_HITS)
    hits = tuple([TextHit(printable_name(hit.path), hit.line, hit.text.strip()[:_MOST_TEXT]) for hit in found.hits])
    return TextHits(hits, not (found.more or found.late), found.late)


async def find_references(index: SymbolIndex, name: str, under: str = "", kind: RequestedKind = "any") -> References:
    """Return where a name is defined, called or mentioned in the source files."""
    found, state = await index.find(name, under=under or ".")
    wanted = [each for each in found if kind in ("any", each.kind)]
    references = await to_thread(lambda: tuple(_read_lines(index.workspace, wanted[:MOST_REFERENCES])))
    return References(name, kind, references, len(wanted), len(found), state.pending, state.files)


def format_references(found: References) -> str:
    """Format references, one per line, and how many more there are."""
    pending = format_pending(IndexState(found.source_files, found.pending_files))
    notes = [pending] if pending else []
    if not found.any_total:
        return "\n".join([f"{found.name} isn't mentioned in any source file here.", *notes])
    if not found.total:
        others = f"There is no {found.kind} of {found.name} in any source file here, but {found.any_total} other references."
        return "\n".join([others, *notes])
    lines = [f"{each.path}:{each.line} {each.kind} in {each.inside or 'the file'}: {each.text}" for each in found.references]
    left = found.total - len(found.references)
    return "\n".join([*lines, *([f"… and {left} more; name a folder beneath."] if left else []), *notes])


def _read_lines(workspace: Workspace, found: Sequence[SymbolLocation]) -> Iterator[Reference]:
    """Yield locations with the text of their lines, which is read now; each file once."""
    for path, locations in groupby(found, key=attrgetter("path")):
        lines: Sequence[str] = ()
        with suppress(TreadleError):  # gone meanwhile
            lines = split_source_lines(decode_source(load_workspace_file(workspace, path)).text)
        for each in locations:
            text = lines[each.line - 1].strip() if each.line <= len(lines) else ""
            yield Reference(printable_name(path), each.line, each.kind, each.inside, text[:_MOST_TEXT])


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


async def map_repository(index: SymbolIndex, under: str = ".", budget: int = MAP_BUDGET, task: str = "") -> RepositoryMap:
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
