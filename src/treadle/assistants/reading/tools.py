"""Tools for conversations about code: the outline of a file, and its lines, for files beneath one folder."""

from pathlib import Path

from treadle import Functions, ToolProblem, Toolset, TreadleError, tool
from treadle.assistants.reading.analyse import source_of
from treadle.assistants.reading.files import NotReadable, load, open_source, walk
from treadle.assistants.reading.outline.compact import compact
from treadle.assistants.reading.outline.source import read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.source import Reads

_MOST_LISTED = 200


def beneath(folder: Path, path: str) -> Path:
    """A path inside of the folder, links followed; a problem for any other."""
    root = folder.resolve()
    found = (root / path).resolve()
    if not found.is_relative_to(root):
        raise NotReadable(f"{path} lies outside of the folder.")
    return found


def toolset(folder: Path) -> Toolset:
    """The tools, for files beneath `folder`."""
    outliner = Outliner()

    @tool(effect="read")
    def list_source_files(under: str = "") -> str:
        """List the source files here.

        :param under: a folder, for those beneath it only
        """
        found = [path.relative_to(folder.resolve()).as_posix() for path in walk(_checked(folder, under or "."))]
        more = f"\n… and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        return "\n".join(found[:_MOST_LISTED]) + more or "There are none."

    @tool(effect="read", trust="untrusted")
    async def outline_file(path: str) -> str:
        """The outline of a source file: line ranges, definitions, first words of comments.

        :param path: the file
        """
        try:
            async with outliner:
                return compact((await open_source(beneath(folder, path), outliner, name=path)).outline)
        except TreadleError as error:
            raise ToolProblem(str(error)) from error

    @tool(effect="read", trust="untrusted")
    def refer_to_source_code(path: str, start_line: int, end_line: int) -> str:
        """Read lines of a source file.

        :param path: the file
        :param start_line: the first line, from 1
        :param end_line: the last line
        """
        from treadle.assistants.reading.outline.values import Outline

        try:
            text = read_source(load(beneath(folder, path))).text
        except TreadleError as error:
            raise ToolProblem(str(error)) from error
        return Reads(source_of(path, text, Outline("", 0, ()))).read(start_line, end_line, "")

    return Functions([list_source_files, outline_file, refer_to_source_code])


def _checked(folder: Path, path: str) -> Path:
    try:
        return beneath(folder, path)
    except NotReadable as error:
        raise ToolProblem(str(error)) from error
