"""Tools for conversations about code in one folder: its map, outlines and lines of files, search, and references to a name."""

from asyncio import to_thread
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from treadle import FunctionToolset, ToolProblem, ToolResult, Toolset, TreadleError, tool
from treadle.assistants.reading.outline.formatter import format_outline
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source
from treadle.assistants.reading.repository_search import MAP_BUDGET, MAP_BUDGETS, format_map, format_references, map_repository
from treadle.assistants.reading.repository_search import find_references as find
from treadle.assistants.reading.repository_search import search_text as search
from treadle.assistants.reading.source_files import (
    SourceReader,
    build_source,
    iter_source_files,
    load_workspace_file,
    open_workspace_source,
)
from treadle.assistants.reading.symbols.index import RequestedKind, SymbolIndex
from treadle.files import printable_name, workspace_at

_MOST_LISTED = 200


class FileList(Struct, frozen=True):
    """Data of a file list: the files listed, and how many there are."""

    files: tuple[str, ...]
    total: int


class FileOutline(Struct, frozen=True):
    """The data of an outline."""

    path: str
    outline: str


def build_reading_toolset(folder: Path, data: Path | None = None) -> Toolset:
    """Build the tools for files below `folder`. The symbol index is stored in `data`, the folder of a home."""
    outliner = Outliner()
    opened: list[SymbolIndex] = []

    def open_index() -> SymbolIndex:
        """Open the index when it is first asked, since the folder is checked then."""
        workspace = workspace_at(folder)
        if not opened:
            opened.append(SymbolIndex(workspace, data))
        return opened[0]

    @tool(effect="read")
    def list_source_files(under: str = "") -> ToolResult:
        """List the source files here.

        :param under: a folder, for those beneath it only
        """
        with _raise_tool_problems():
            found = list(iter_source_files(workspace_at(folder), under or "."))
        more = f"\n… and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        files = [printable_name(path) for path in found[:_MOST_LISTED]]
        return ToolResult("\n".join(files) + more or "There are none.", FileList(tuple(files), len(found)))

    @tool(effect="read", trust="untrusted")
    async def outline_file(path: str) -> ToolResult:
        """The outline of a source file: line ranges, definitions, first words of comments.

        :param path: the file
        """
        with _raise_tool_problems():
            workspace = await to_thread(workspace_at, folder)
            async with outliner:
                outline = format_outline((await open_workspace_source(workspace, path, outliner)).outline)
        return ToolResult(outline, FileOutline(path, outline))

    @tool(effect="read", trust="untrusted")
    def refer_to_source_code(path: str, start_line: int, end_line: int) -> str:
        """Read lines of a source file.

        :param path: the file
        :param start_line: the first line, from 1
        :param end_line: the last line
        """
        from treadle.assistants.reading.outline.nodes import Outline

        with _raise_tool_problems():
            text = decode_source(load_workspace_file(workspace_at(folder), path)).text
        return SourceReader(build_source(path, text, Outline("", 0, ()))).read(start_line, end_line, "")

    @tool(effect="read", trust="untrusted")
    async def find_references(name: str, under: str = "", kind: RequestedKind = "any") -> ToolResult:
        """Find where a name is defined, called or mentioned in the source files here.

        :param name: a function, method, class or variable, without its class
        :param under: a folder, for files beneath it only
        :param kind: "call" for its callers only, "definition" for where it is defined
        """
        with _raise_tool_problems():
            references = await find(await to_thread(open_index), name, under, kind)
        return ToolResult(format_references(references), references)

    @tool(effect="read", trust="untrusted")
    async def search_text(pattern: str, under: str = "", file_pattern: str = "", case_insensitive: bool = False) -> ToolResult:
        """Search the text of all files here, also those that are no source code. Gives path:line:text.

        :param pattern: regular expression
        :param under: a folder, for files beneath it only
        :param file_pattern: only files with such names, as *.py
        :param case_insensitive: upper and lower case are the same
        """
        with _raise_tool_problems():
            workspace = await to_thread(workspace_at, folder)
            found = await search(workspace, pattern, under, file_pattern, ignore_case=case_insensitive)
        lines = [f"{hit.path}:{hit.line}:{hit.text}" for hit in found.hits]
        lines = lines or [f"No line fits {pattern!r}. Hidden files and those that git ignores are not searched."]
        lines += ["[There is more: search beneath a folder, or for less.]"] if not (found.complete or found.late) else []
        lines += ["[The time was up before all files were searched.]"] if found.late else []
        return ToolResult("\n".join(lines), found)

    @tool(effect="read", trust="untrusted")
    async def repository_map(under: str = "", max_characters: int = MAP_BUDGET, task: str = "") -> ToolResult:
        """Map the source files here with their definitions, those first that other files refer to most.

        :param under: a folder, for files beneath it only
        :param max_characters: how long the map may be
        :param task: what you want to know or do; files and names in it come first
        """
        least, most = MAP_BUDGETS
        with _raise_tool_problems():
            found = await map_repository(await to_thread(open_index), under, max(least, min(max_characters, most)), task)
        return ToolResult(format_map(found), found)

    tools = [list_source_files, repository_map, outline_file, refer_to_source_code, find_references, search_text]
    return FunctionToolset(tools)


@contextmanager
def _raise_tool_problems() -> Generator[None]:
    """Raise problems with a path or a file as tool problems for the model."""
    try:
        yield
    except TreadleError as error:
        raise ToolProblem(str(error)) from error
