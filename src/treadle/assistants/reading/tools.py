"""Tools for conversations about code beneath one folder: its map, outlines and lines of files, search, and references to a name."""

import re
from asyncio import to_thread
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Literal

from msgspec import Struct

from treadle import Functions, ToolProblem, ToolResult, Toolset, TreadleError, tool
from treadle.assistants.reading.files import load_from, open_source_from, walk
from treadle.assistants.reading.outline.compact import compact
from treadle.assistants.reading.outline.source import lines_of, read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.parts import part_at
from treadle.assistants.reading.repository_map import BUDGET, map_repository, map_text
from treadle.assistants.reading.source import Reads, source_of
from treadle.files import Workspace, shown, workspace_at
from treadle.workspace import Search

_MOST_LISTED = 200
_MOST_REFERENCES = 100
_MOST_HITS = 100
_BUDGETS = (500, 20_000)  # characters of a map, at least and at most
_MOST_FILES = 2000  # that are searched
_MOST_TEXT = 200  # characters of a line
_HEAD = 3  # lines in which a definition has its name


class FileList(Struct, frozen=True):
    """The data of a list of files: as many as are listed, and how many there are."""

    files: tuple[str, ...]
    total: int


class FileOutline(Struct, frozen=True):
    """The data of an outline."""

    path: str
    outline: str


ReferenceKind = Literal["definition", "call", "mention"]


class Reference(Struct, frozen=True):
    """A line that mentions a name, and the definition around it."""

    path: str
    line: int
    kind: ReferenceKind
    inside: str
    text: str


class References(Struct, frozen=True):
    """The data of a search for a name: as many references as are listed, how many there are, and how many of any kind."""

    name: str
    kind: ReferenceKind | Literal["any"]
    references: tuple[Reference, ...]
    total: int
    any_total: int


class TextHit(Struct, frozen=True):
    """A line that fits a pattern."""

    path: str
    line: int
    text: str


class TextHits(Struct, frozen=True):
    """The data of a search for text. `complete` is false where there is more, or the time was up."""

    hits: tuple[TextHit, ...]
    complete: bool


def toolset(folder: Path) -> Toolset:
    """The tools, for files beneath `folder`."""
    outliner = Outliner()

    @tool(effect="read")
    def list_source_files(under: str = "") -> ToolResult:
        """List the source files here.

        :param under: a folder, for those beneath it only
        """
        with _worded():
            found = list(walk(workspace_at(folder), under or "."))
        more = f"\n… and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        files = [shown(path) for path in found[:_MOST_LISTED]]
        return ToolResult("\n".join(files) + more or "There are none.", FileList(tuple(files), len(found)))

    @tool(effect="read", trust="untrusted")
    async def outline_file(path: str) -> ToolResult:
        """The outline of a source file: line ranges, definitions, first words of comments.

        :param path: the file
        """
        with _worded():
            workspace = await to_thread(workspace_at, folder)
            async with outliner:
                outline = compact((await open_source_from(workspace, path, outliner)).outline)
        return ToolResult(outline, FileOutline(path, outline))

    @tool(effect="read", trust="untrusted")
    def refer_to_source_code(path: str, start_line: int, end_line: int) -> str:
        """Read lines of a source file.

        :param path: the file
        :param start_line: the first line, from 1
        :param end_line: the last line
        """
        from treadle.assistants.reading.outline.values import Outline

        with _worded():
            text = read_source(load_from(workspace_at(folder), path)).text
        return Reads(source_of(path, text, Outline("", 0, ()))).read(start_line, end_line, "")

    @tool(effect="read", trust="untrusted")
    async def find_references(name: str, under: str = "", kind: ReferenceKind | Literal["any"] = "any") -> ToolResult:
        """Find where a name is defined, called or mentioned in the source files here.

        :param name: a function, method, class or variable, without its class
        :param under: a folder, for files beneath it only
        :param kind: "call" for its callers only, "definition" for where it is defined
        """
        with _worded():
            workspace = await to_thread(workspace_at, folder)
            files = await to_thread(_mentions, workspace, name, under or ".")
            async with outliner:
                found = [each for path, lines in files for each in await _references(workspace, path, lines, name, outliner)]
        wanted = [each for each in found if kind in ("any", each.kind)]
        references = References(name, kind, tuple(wanted[:_MOST_REFERENCES]), len(wanted), len(found))
        return ToolResult(references_text(references), references)

    @tool(effect="read", trust="untrusted")
    async def search_text(pattern: str, under: str = "", file_pattern: str = "", case_insensitive: bool = False) -> ToolResult:
        """Search the text of all files here, also those that are no source code. Gives path:line:text.

        :param pattern: regular expression
        :param under: a folder, for files beneath it only
        :param file_pattern: only files with such names, as *.py
        :param case_insensitive: upper and lower case are the same
        """
        globs = [file_pattern] if file_pattern else []
        with _worded():
            search = Search(await to_thread(workspace_at, folder))
            found = await search.grep(pattern, under or ".", globs, ignore_case=case_insensitive, most=_MOST_HITS)
        hits = tuple([TextHit(shown(hit.path), hit.line, hit.text.strip()[:_MOST_TEXT]) for hit in found.hits])
        lines = [f"{hit.path}:{hit.line}:{hit.text}" for hit in hits]
        lines = lines or [f"No line fits {pattern!r}. Hidden files and those that git ignores are not searched."]
        lines += ["[There is more: search beneath a folder, or for less.]"] if found.more else []
        lines += ["[The time was up before all files were searched.]"] if found.late else []
        return ToolResult("\n".join(lines), TextHits(hits, not (found.more or found.late)))

    @tool(effect="read", trust="untrusted")
    async def repository_map(under: str = "", max_characters: int = BUDGET) -> ToolResult:
        """Map the source files here with their definitions, those first that other files refer to most.

        :param under: a folder, for files beneath it only
        :param max_characters: how long the map may be
        """
        least, most = _BUDGETS
        with _worded():
            workspace = await to_thread(workspace_at, folder)
            async with outliner:
                found = await map_repository(workspace, outliner, under or ".", max(least, min(max_characters, most)))
        return ToolResult(map_text(found), found)

    tools = [list_source_files, repository_map, outline_file, refer_to_source_code, find_references, search_text]
    return Functions(tools)


def references_text(found: References) -> str:
    """References, a line each, and how many more there are."""
    if not found.any_total:
        return f"{found.name} isn't mentioned in any source file here."
    if not found.total:
        return f"There is no {found.kind} of {found.name} in any source file here, but {found.any_total} other references."
    lines = [f"{each.path}:{each.line} {each.kind} in {each.inside or 'the file'}: {each.text}" for each in found.references]
    left = found.total - len(found.references)
    return "\n".join([*lines, *([f"… and {left} more; name a folder beneath."] if left else [])])


def _mentions(workspace: Workspace, name: str, under: str) -> list[tuple[str, list[int]]]:
    """The files that mention a name, with the lines, as far as they can be read."""
    word, found = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])"), list[tuple[str, list[int]]]()
    for path in islice(walk(workspace, under), _MOST_FILES):
        with suppress(TreadleError):  # what can't be read mentions nothing
            text = read_source(load_from(workspace, path)).text
            if lines := [number for number, line in enumerate(lines_of(text), 1) if word.search(line)]:
                found.append((path, lines))
    return found


async def _references(workspace: Workspace, path: str, lines: list[int], name: str, outliner: Outliner) -> list[Reference]:
    """The mentions of a name in a file, each with the definition that it is in."""
    try:
        source = await open_source_from(workspace, path, outliner)
    except TreadleError:
        return []
    called = re.compile(rf"(?<![\w$]){re.escape(name)}\s*\(")
    found: list[Reference] = []
    for line in lines:
        part = part_at(source.parts, line)
        text, element = source.lines[line - 1].strip(), part.elements[0].name if part is not None and part.elements else ""
        defines = part is not None and part.node.name == name and line < part.start + _HEAD
        kind = "definition" if defines else "call" if called.search(text) else "mention"
        found.append(Reference(path, line, kind, element, text[:_MOST_TEXT]))
    return found


@contextmanager
def _worded() -> Generator[None]:
    """What is wrong with a path or a file is a problem of the model's."""
    try:
        yield
    except TreadleError as error:
        raise ToolProblem(str(error)) from error
