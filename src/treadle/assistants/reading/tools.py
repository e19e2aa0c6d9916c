"""Tools for conversations about code: the outline of a file, and its lines, for files beneath one folder."""

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

    return Functions([list_source_files, outline_file, refer_to_source_code])


@contextmanager
def _worded() -> Generator[None]:
    """What is wrong with a path or a file is a problem of the model's."""
    try:
        yield
    except TreadleError as error:
        raise ToolProblem(str(error)) from error
