"""The tools of a workspace: four that take an `action`, or flat ones, one for each action. `files` and `finder` implement them.

Each action has its effect, and a flat tool that of its action. `search` and `navigate` only read. After a crash, changes
may run again: nothing counts as read then, so an existing file stays as it is until the model reads it.
"""

from asyncio import to_thread
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, assert_never

from treadle.core.calls import Effect, Preview
from treadle.core.context import RunContext
from treadle.core.requests import Shorthand
from treadle.core.tool import ToolResult
from treadle.files.problems import BadEdit
from treadle.files.workspace import Workspace
from treadle.files.workspace_folders import check_workspace
from treadle.tools.tool import FunctionTool, tool
from treadle.toolsets.functions import FunctionToolset
from treadle.toolsets.workspace.files import FilePreviews, WorkspaceFiles
from treadle.toolsets.workspace.finder import Finder, Outline, SymbolLookup
from treadle.toolsets.workspace.search import Search

TOOLSET = "workspace"
_FILE: Mapping[str, Effect] = {"read": "read", "write": "write", "replace": "write", "append": "write", "delete": "destroy"}
_CODE_EDIT: Mapping[str, Effect] = {
    "get_lines": "read",
    "edit_lines": "write",
    "insert_at_line": "write",
    "delete_lines": "write",
    "append": "write",
}
_PATH = Shorthand(("path",))
_APPEND = Shorthand(("content",), {"action": "append"})
_FILE_LINE = {"": Shorthand(sets={"action": "read"}), "f": _PATH, "a": _APPEND}
_CODE_EDIT_LINE = {
    "": Shorthand(sets={"action": "get_lines"}),
    "f": _PATH,
    "l": Shorthand(("start_line", "end_line")),
    "r": Shorthand(("new_content",), {"action": "edit_lines"}),
    "a": _APPEND,
}
_SEARCH_LINE = {"": Shorthand(sets={"action": "grep"}), "t": Shorthand(("pattern",))}
_NAVIGATE_LINE = {"": Shorthand(sets={"action": "list_directory"})}
_T = TypeVar("_T")


def workspace_tools(
    folder: str | Path,
    *,
    flat: bool = False,
    outline: Outline | None = None,
    symbols: SymbolLookup | None = None,
    secrets: bool = False,
    program: str | None = None,
    project: Path | None = None,
) -> FunctionToolset:
    """Return the toolset of a folder. Raises `NotAWorkspace` for one that must not be used as a workspace.

    flat     one tool for each action, for models that choose a tool better than an argument
    outline  builds outlines of files; without it, lines that look like definitions are listed
    symbols  finds definitions and references and makes maps; without it, lines are searched and folders are listed
    secrets  lets files with secrets be read
    program  ripgrep's path, if not the installed one
    project  the folder that this one is a private copy of: absolute paths in it mean the copy
    """
    workspace = Workspace(check_workspace(folder), secrets=secrets, alias=project)
    files, finder = WorkspaceFiles(workspace), Finder(workspace, Search(workspace, program), outline, symbols)
    return FunctionToolset(_build_flat(files, finder) if flat else _build_grouped(files, finder), TOOLSET)


def _build_flat(files: WorkspaceFiles, finder: Finder) -> list[Any]:
    some, shows, found = FlatFiles(files), FlatFiles(FilePreviews(files)), FlatFinder(finder)
    names = ("write_file", "replace_text", "edit_lines", "insert_lines", "delete_lines", "delete_file")
    changing = [_add_preview(getattr(some, name), getattr(shows, name), files) for name in names]
    looking = [found.grep, found.find_files, found.find_definition, found.find_references]
    listing = [found.repository_map, found.list_folder, found.outline_file]
    return [some.read_file, *changing, *looking, *listing]


def _build_grouped(files: WorkspaceFiles, finder: Finder) -> list[Any]:
    some, shows, found = GroupedFiles(files), GroupedFiles(FilePreviews(files)), GroupedFinder(finder)
    changing = [_add_preview(some.file, shows.file, files), _add_preview(some.code_edit, shows.code_edit, files)]
    return [*changing, found.search, found.navigate]


def _add_preview(
    changes: FunctionTool[..., Any, Any], shows: FunctionTool[..., Any, Any], files: WorkspaceFiles
) -> FunctionTool[..., Any, Any]:
    """Add a preview to a tool: the same function on files that only report what would change. The seal is taken before the diff."""

    def preview(ctx: RunContext[Any], **arguments: Any) -> Preview:
        seal = files.seal(arguments["path"])
        return Preview(str(shows(ctx, **arguments)), seal, _find_texts(arguments))

    return changes.with_preview(partial(to_thread, preview))


def _find_texts(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments that a diff shows: the new text, or the old one with the new. Not where one of several is ignored."""
    given = tuple([name for name in ("content", "new_content", "old", "new") if arguments.get(name) is not None])
    return given if given in (("content",), ("new_content",), ("old", "new")) else ()


class FlatFiles:
    """Files, one tool for each action."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files

    @tool(effect=_FILE["read"])
    def read_file(self, ctx: RunContext[Any], path: str, start_line: int = 1, end_line: int | None = None) -> ToolResult:
        """Read a file, with line numbers. Needed before it can be edited.

        :param path: path in the workspace
        :param start_line: first line, counted from 1
        :param end_line: last line
        """
        return self._files.read(ctx.run_id, path, start_line, end_line)

    @tool(effect=_FILE["write"], retry="idempotent", sequential=True)
    def write_file(self, ctx: RunContext[Any], path: str, content: str) -> str:
        """Write a whole file, new or in place of the old one.

        :param path: path in the workspace; missing folders are made
        :param content: the whole content
        """
        self._files.check_seal(ctx.run_id, path, ctx.seal)
        return self._files.write(ctx.run_id, path, content)

    @tool(effect=_FILE["replace"], retry="idempotent", sequential=True)
    def replace_text(
        self, ctx: RunContext[Any], path: str, old: str, new: str, line: int | None = None, replace_all: bool = False
    ) -> str:
        """Replace a text in a file. It must be there exactly once, unless a line or all places are meant.

        :param path: path in the workspace
        :param old: the text to replace, copied from the file without line numbers
        :param new: the text to put there
        :param line: a line of the match that is meant, if there are several
        :param replace_all: replace it everywhere
        """
        self._files.check_seal(ctx.run_id, path, ctx.seal)
        return self._files.replace(ctx.run_id, path, old, new, line, every=replace_all)

    @tool(effect=_CODE_EDIT["edit_lines"], retry="idempotent", sequential=True)
    def edit_lines(self, ctx: RunContext[Any], path: str, start_line: int, end_line: int, new_content: str) -> str:
        """Replace lines of a file by others.

        :param path: path in the workspace
        :param start_line: first line to replace, counted from 1
        :param end_line: last line to replace
        :param new_content: the new lines, without line numbers
        """
        self._files.check_seal(ctx.run_id, path, ctx.seal)
        return self._files.edit_lines(ctx.run_id, path, start_line, end_line, new_content)

    @tool(effect=_CODE_EDIT["insert_at_line"], retry="idempotent", sequential=True)
    def insert_lines(self, ctx: RunContext[Any], path: str, line_number: int, content: str) -> str:
        """Insert lines into a file.

        :param path: path in the workspace
        :param line_number: the line they are put before; one more than the last puts them at the end
        :param content: the new lines, without line numbers
        """
        self._files.check_seal(ctx.run_id, path, ctx.seal)
        return self._files.insert(ctx.run_id, path, line_number, content)

    @tool(effect=_CODE_EDIT["delete_lines"], retry="idempotent", sequential=True)
    def delete_lines(self, ctx: RunContext[Any], path: str, start_line: int, end_line: int) -> str:
        """Delete lines of a file.

        :param path: path in the workspace
        :param start_line: first line to delete, counted from 1
        :param end_line: last line to delete
        """
        self._files.check_seal(ctx.run_id, path, ctx.seal)
        return self._files.delete_lines(ctx.run_id, path, start_line, end_line)

    @tool(effect=_FILE["delete"], retry="idempotent", sequential=True)
    def delete_file(self, ctx: RunContext[Any], path: str) -> str:
        """Delete a file or an empty folder.

        :param path: path in the workspace
        """
        self._files.check_seal(ctx.run_id, path, ctx.seal)
        return self._files.delete(ctx.run_id, path)


class FlatFinder:
    """Searching and listing, one tool for each action."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    @tool(effect="read")
    async def grep(
        self, pattern: str, directory: str = ".", file_pattern: str = "", case_insensitive: bool = False, max_results: int = 100
    ) -> ToolResult:
        """Search the content of files. Gives path:line:text.

        :param pattern: regular expression
        :param directory: folder to search in
        :param file_pattern: only files with such names, as *.py
        :param case_insensitive: upper and lower case are the same
        :param max_results: how many lines at most
        """
        return await self._finder.grep(pattern, directory, file_pattern, case_insensitive=case_insensitive, most=max_results)

    @tool(effect="read")
    async def find_files(self, pattern: str, directory: str = ".", max_results: int = 100) -> ToolResult:
        """Find files by name.

        :param pattern: name with wildcards, as *.py or test_*
        :param directory: folder to search in
        :param max_results: how many at most
        """
        return await self._finder.find_files(pattern, directory, max_results)

    @tool(effect="read")
    async def find_definition(self, name: str, directory: str = ".", language: str = "") -> str:
        """Find where a function, class or type is defined.

        :param name: its exact name
        :param directory: folder to search in
        :param language: only in this language, as python or go
        """
        return await self._finder.find_definition(name, directory, language)

    @tool(effect="read")
    async def find_references(self, name: str, directory: str = ".", calls_only: bool = False) -> str:
        """Find where a function, class or other name is used. Gives path:line and the definition around it.

        :param name: its exact name
        :param directory: folder to search in
        :param calls_only: only where it is called
        """
        return await self._finder.find_references(name, directory, calls_only=calls_only)

    @tool(effect="read")
    async def repository_map(self, task: str = "", directory: str = ".", max_tokens: int = 1000) -> str:
        """List the most important files with what they define. Good to begin with in an unknown project.

        :param task: what is to be done; files and names in it come first
        :param directory: only files in this folder
        :param max_tokens: how long the list may be
        """
        return await self._finder.map(task, directory, max_tokens)

    @tool(effect="read")
    def list_folder(self, directory: str = ".", show_hidden: bool = False, extension: str = "") -> str:
        """List a folder.

        :param directory: the folder
        :param show_hidden: also names that begin with a dot
        :param extension: only files with this ending, as py
        """
        return self._finder.list_folder(directory, show_hidden=show_hidden, extension=extension)

    @tool(effect="read")
    async def outline_file(self, path: str) -> str:
        """List what a file defines, with line numbers.

        :param path: path in the workspace
        """
        return await self._finder.outline(path)


class GroupedFiles:
    """Files, as two tools with actions."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files

    @tool(effects=_FILE, retry="idempotent", sequential=True, command_line=_FILE_LINE)
    def file(
        self,
        ctx: RunContext[Any],
        action: Literal["read", "write", "replace", "append", "delete"],
        path: str,
        content: str | None = None,
        old: str | None = None,
        new: str | None = None,
        line: int | None = None,
        replace_all: bool = False,
    ) -> str | ToolResult:
        """Read, write or delete a file, or replace a text in it. A file must be read before it is changed.

        :param action: what to do
        :param path: path in the workspace
        :param content: for write and append: the text
        :param old: for replace: the text to replace, copied from the file without line numbers
        :param new: for replace: the text to put there
        :param line: for replace: a line of the match that is meant, if there are several
        :param replace_all: for replace: everywhere
        """
        run = ctx.run_id
        self._files.check_seal(run, path, ctx.seal)
        match action:
            case "read":
                return self._files.read(run, path, go_on='code_edit, action="get_lines", start_line={}')
            case "write":
                return self._files.write(run, path, _require_argument(content, "content", action))
            case "replace":
                was, becomes = _require_argument(old, "old", action), _require_argument(new, "new", action)
                return self._files.replace(run, path, was, becomes, line, every=replace_all)
            case "append":
                return self._files.append(run, path, _require_argument(content, "content", action))
            case "delete":
                return self._files.delete(run, path)
            case _:
                assert_never(action)

    @tool(effects=_CODE_EDIT, retry="idempotent", sequential=True, command_line=_CODE_EDIT_LINE)
    def code_edit(
        self,
        ctx: RunContext[Any],
        action: Literal["get_lines", "edit_lines", "insert_at_line", "delete_lines", "append"],
        path: str,
        start_line: int | None = None,
        end_line: int | None = None,
        line_number: int | None = None,
        new_content: str | None = None,
        content: str | None = None,
    ) -> str | ToolResult:
        """Read or change lines of a file. Lines are counted from 1. A file must be read before it is changed.

        :param action: what to do
        :param path: path in the workspace
        :param start_line: first line, for get_lines, edit_lines and delete_lines
        :param end_line: last line, for get_lines, edit_lines and delete_lines
        :param line_number: for insert_at_line: the line the new ones are put before
        :param new_content: for edit_lines: the new lines, without line numbers
        :param content: for insert_at_line and append: the new lines, without line numbers
        """
        run = ctx.run_id
        self._files.check_seal(run, path, ctx.seal)
        if action == "get_lines":
            return self._files.read(run, path, start_line or 1, end_line)
        if action == "insert_at_line":
            new = _require_argument(new_content if content is None else content, "content", action)
            return self._files.insert(run, path, _require_argument(line_number, "line_number", action), new)
        if action == "append":
            return self._files.append(run, path, _require_argument(new_content if content is None else content, "content", action))
        start, end = _require_argument(start_line, "start_line", action), _require_argument(end_line, "end_line", action)
        if action == "delete_lines":
            return self._files.delete_lines(run, path, start, end)
        new = _require_argument(content if new_content is None else new_content, "new_content", action)
        return self._files.edit_lines(run, path, start, end, new)


class GroupedFinder:
    """Searching and listing, as two tools with actions."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    @tool(effect="read", command_line=_SEARCH_LINE)
    async def search(
        self,
        action: Literal["grep", "find_files", "find_in_file", "find_definition", "find_references", "find_callers"],
        pattern: str | None = None,
        directory: str = ".",
        file_pattern: str = "",
        path: str | None = None,
        name: str | None = None,
        language: str = "",
        case_insensitive: bool = False,
        max_results: int = 100,
    ) -> str | ToolResult:
        """Search the content of files, or find files, definitions, references or callers.

        :param action: what to do
        :param pattern: for grep and find_in_file: regular expression; for find_files: name with wildcards, as *.py
        :param directory: folder to search in
        :param file_pattern: for grep: only files with such names, as *.py
        :param path: for find_in_file: the file
        :param name: for find_definition, find_references and find_callers: the exact name
        :param language: for find_definition: only in this language, as python or go
        :param case_insensitive: upper and lower case are the same
        :param max_results: how many at most
        """
        look = self._finder
        if action == "find_definition":
            return await look.find_definition(_require_argument(name, "name", action), directory, language)
        if action in ("find_references", "find_callers"):
            calls_only = action == "find_callers"
            return await look.find_references(_require_argument(name, "name", action), directory, calls_only=calls_only)
        wanted = _require_argument(pattern, "pattern", action)
        match action:
            case "grep":
                return await look.grep(wanted, directory, file_pattern, case_insensitive=case_insensitive, most=max_results)
            case "find_files":
                return await look.find_files(wanted, directory, max_results)
            case "find_in_file":
                where = _require_argument(path, "path", action)
                return await look.find_in_file(where, wanted, case_insensitive=case_insensitive, most=max_results)
            case _:
                assert_never(action)

    @tool(effect="read", command_line=_NAVIGATE_LINE)
    async def navigate(
        self,
        action: Literal["list_directory", "get_file_outline", "find_imports", "get_tree", "repository_map"],
        directory: str = ".",
        path: str | None = None,
        show_hidden: bool = False,
        extension: str = "",
        max_depth: int = 3,
        task: str = "",
        max_tokens: int = 1000,
    ) -> str:
        """List folders, what a file defines or imports, or the most important files of the project with what they define.

        :param action: what to do
        :param directory: for list_directory, get_tree and repository_map: the folder
        :param path: for get_file_outline and find_imports: the file
        :param show_hidden: for list_directory: also names that begin with a dot
        :param extension: for list_directory: only files with this ending, as py
        :param max_depth: for get_tree: how many folders deep
        :param task: for repository_map: what is to be done; files and names in it come first
        :param max_tokens: for repository_map: how long it may be
        """
        match action:
            case "list_directory":
                return await to_thread(self._finder.list_folder, directory, show_hidden=show_hidden, extension=extension)
            case "repository_map":
                return await self._finder.map(task, directory, max_tokens)
            case "get_tree":
                return await to_thread(self._finder.tree, directory, max_depth)
            case "get_file_outline":
                return await self._finder.outline(_require_argument(path, "path", action))
            case "find_imports":
                return await to_thread(self._finder.imports, _require_argument(path, "path", action))
            case _:
                assert_never(action)


def _require_argument(value: _T | None, name: str, action: str) -> _T:
    """Return an argument that this action needs."""
    if value is None:
        raise BadEdit(f"The action {action} needs the argument {name}. Repeat the call with it.")
    return value
