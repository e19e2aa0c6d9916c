"""Tools for conversations about code beneath one folder: its map, outlines and lines of files, search, and references to a name."""

from asyncio import to_thread
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from treadle import Functions, ToolProblem, ToolResult, Toolset, TreadleError, tool
from treadle.assistants.reading.files import load_from, open_source_from, walk
from treadle.assistants.reading.outline.compact import compact
from treadle.assistants.reading.outline.source import read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.repository_map import BUDGET, BUDGETS, map_repository, map_text
from treadle.assistants.reading.repository_search import WantedKind, references_text
from treadle.assistants.reading.repository_search import find_references as find
from treadle.assistants.reading.repository_search import search_text as search
from treadle.assistants.reading.source import Reads, source_of
from treadle.files import shown, workspace_at

_MOST_LISTED = 200


class FileList(Struct, frozen=True):
    """The data of a list of files: as many as are listed, and how many there are."""

    files: tuple[str, ...]
    total: int


class FileOutline(Struct, frozen=True):
    """The data of an outline."""

    path: str
    outline: str


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
    async def find_references(name: str, under: str = "", kind: WantedKind = "any") -> ToolResult:
        """Find where a name is defined, called or mentioned in the source files here.

        :param name: a function, method, class or variable, without its class
        :param under: a folder, for files beneath it only
        :param kind: "call" for its callers only, "definition" for where it is defined
        """
        with _worded():
            workspace = await to_thread(workspace_at, folder)
            async with outliner:
                references = await find(workspace, outliner, name, under, kind)
        return ToolResult(references_text(references), references)

    @tool(effect="read", trust="untrusted")
    async def search_text(pattern: str, under: str = "", file_pattern: str = "", case_insensitive: bool = False) -> ToolResult:
        """Search the text of all files here, also those that are no source code. Gives path:line:text.

        :param pattern: regular expression
        :param under: a folder, for files beneath it only
        :param file_pattern: only files with such names, as *.py
        :param case_insensitive: upper and lower case are the same
        """
        with _worded():
            workspace = await to_thread(workspace_at, folder)
            found = await search(workspace, pattern, under, file_pattern, ignore_case=case_insensitive)
        lines = [f"{hit.path}:{hit.line}:{hit.text}" for hit in found.hits]
        lines = lines or [f"No line fits {pattern!r}. Hidden files and those that git ignores are not searched."]
        lines += ["[There is more: search beneath a folder, or for less.]"] if not (found.complete or found.late) else []
        lines += ["[The time was up before all files were searched.]"] if found.late else []
        return ToolResult("\n".join(lines), found)

    @tool(effect="read", trust="untrusted")
    async def repository_map(under: str = "", max_characters: int = BUDGET) -> ToolResult:
        """Map the source files here with their definitions, those first that other files refer to most.

        :param under: a folder, for files beneath it only
        :param max_characters: how long the map may be
        """
        least, most = BUDGETS
        with _worded():
            workspace = await to_thread(workspace_at, folder)
            async with outliner:
                found = await map_repository(workspace, outliner, under or ".", max(least, min(max_characters, most)))
        return ToolResult(map_text(found), found)

    tools = [list_source_files, repository_map, outline_file, refer_to_source_code, find_references, search_text]
    return Functions(tools)


@contextmanager
def _worded() -> Generator[None]:
    """What is wrong with a path or a file is a problem of the model's."""
    try:
        yield
    except TreadleError as error:
        raise ToolProblem(str(error)) from error
