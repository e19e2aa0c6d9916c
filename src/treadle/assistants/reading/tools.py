"""Tools for conversations about code beneath one folder: outlines of files, their lines, and where a name is used."""

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
from treadle.assistants.reading.source import Reads, source_of
from treadle.files import Workspace, shown, workspace_at

_MOST_LISTED = 200
_MOST_REFERENCES = 100
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


class Reference(Struct, frozen=True):
    """A line that mentions a name, and the definition around it."""

    path: str
    line: int
    kind: Literal["definition", "call", "mention"]
    inside: str
    text: str


class References(Struct, frozen=True):
    """The data of a search for a name."""

    name: str
    references: tuple[Reference, ...]


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
    async def find_references(name: str, under: str = "") -> ToolResult:
        """Find where a name is defined, called or mentioned in the source files here.

        :param name: a function, method, class or variable, without its class
        :param under: a folder, for files beneath it only
        """
        with _worded():
            workspace = await to_thread(workspace_at, folder)
            files = await to_thread(_mentions, workspace, name, under or ".")
            async with outliner:
                found = [each for path, lines in files for each in await _references(workspace, path, lines, name, outliner)]
        found = found[:_MOST_REFERENCES]
        text = "\n".join([f"{each.path}:{each.line} {each.kind} in {each.inside or 'the file'}: {each.text}" for each in found])
        return ToolResult(text or f"{name} isn't mentioned in any source file here.", References(name, tuple(found)))

    return Functions([list_source_files, outline_file, refer_to_source_code, find_references])


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
        part = next((part for part in reversed(source.parts) if part.start <= line <= part.end), None)
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
