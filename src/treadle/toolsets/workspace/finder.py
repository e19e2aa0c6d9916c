"""Searching and looking around in a workspace, told in text for a model. Which tools offer this is `tools`."""

import re
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterator
from typing import assert_never

from treadle.files.problems import BadSearch, Binary, WorkspaceProblem, shown
from treadle.files.workspace import Entry, Workspace
from treadle.toolsets.workspace.edits import lines_of
from treadle.toolsets.workspace.files import MOST_SHOWN, cut
from treadle.toolsets.workspace.languages import LANGUAGES, NAME, any_definition, definition, language_of
from treadle.toolsets.workspace.search import MOST_HITS, Found, Names, Search
from treadle.toolsets.workspace.text import decode

MOST_ENTRIES = 500
MOST_COLUMNS = 300
SKIPPED = frozenset({"node_modules", "vendor", "__pycache__"})

Outline = Callable[[str, bytes], Awaitable[str]]
"""Makes an outline of a file: (its name, its content) to text."""


class Finder:
    """What can be found in a workspace."""

    def __init__(self, workspace: Workspace, search: Search, outline: Outline | None = None) -> None:
        self._workspace = workspace
        self._search = search
        self._outline = outline

    async def grep(self, pattern: str, directory: str, file_pattern: str, *, case_insensitive: bool, most: int) -> str:
        """Lines of files that fit a pattern: `path:line:text`."""
        globs = [file_pattern] if file_pattern else []
        found = await self._search.grep(pattern, directory, globs, ignore_case=case_insensitive, most=_most(most))
        return self._told(found, f"No line fits {pattern!r}. Hidden files and those that git ignores are not searched.")

    async def find_in_file(self, path: str, pattern: str, *, case_insensitive: bool, most: int) -> str:
        """Lines of one file that fit a pattern: `line:text`."""
        found = await self._search.find_in_file(pattern, path, ignore_case=case_insensitive, most=_most(most))
        lines = [f"{hit.line}:{cut(hit.text, MOST_COLUMNS)}" for hit in found.hits]
        return self._ended(lines, found) if lines else self._ended([f"No line of {shown(path)} fits {pattern!r}."], found)

    async def find_files(self, pattern: str, directory: str, most: int) -> str:
        """Paths of files whose names fit a glob."""
        found = await self._search.find_files(pattern, directory, most=_most(most))
        lines = [shown(path) for path in found.paths]
        return self._ended(lines or [f"No file fits {pattern!r}. Hidden files and those that git ignores are not searched."], found)

    async def find_definition(self, name: str, directory: str, language: str) -> str:
        """Where a name is defined: `path:line:text`."""
        word = name.rpartition(".")[2]
        if re.fullmatch(NAME, word) is None:
            raise BadSearch(f"{name!r} is no name of a function, class or type. Give the bare name, or use grep.")
        if language and language not in LANGUAGES:
            raise BadSearch(f"{language!r} is no language that is known here. Use one of {', '.join(LANGUAGES)}, or leave it out.")
        hits, more, late = list[str](), False, False
        for each in [language] if language else LANGUAGES:
            spoken = LANGUAGES[each]
            found = await self._search.grep(definition(spoken, word), directory, spoken.files)
            hits += [f"{shown(hit.path)}:{hit.line}:{cut(hit.text, MOST_COLUMNS)}" for hit in found.hits]
            more, late = more or found.more, late or found.late
        nothing = f"No definition of {word} was found. It may be defined in another way: use grep for it."
        return self._ended(hits or [nothing], Found((), more, late))

    def list_folder(self, directory: str, *, show_hidden: bool, extension: str) -> str:
        """The names in a folder; folders end in `/`."""
        ending = f".{extension.removeprefix('.')}" if extension else ""
        entries = [
            entry
            for entry in self._workspace.listing(directory)
            if (show_hidden or not entry.name.startswith(".")) and (entry.name.endswith(ending) or entry.kind == "folder")
        ]
        lines = [_entry(entry) for entry in entries[:MOST_ENTRIES]]
        if len(entries) > MOST_ENTRIES:
            lines.append(f"[{len(entries) - MOST_ENTRIES} more; use find_files to find one of them]")
        return "\n".join(lines) or f"There is nothing to list in {shown(directory)}."

    def tree(self, directory: str, depth: int) -> str:
        """Folders in folders, as an indented list."""
        self._workspace.listing(directory, most=1)  # a problem with the folder itself is said, not skipped
        lines = list[str]()
        for line in self._branches(directory, max(1, min(depth, 10)), ""):
            if len(lines) == MOST_ENTRIES:
                lines.append("[there is more; ask for a folder below, or for less depth]")
                break
            lines.append(line)
        return "\n".join(lines) or f"There is nothing to list in {shown(directory)}."

    def _branches(self, folder: str, depth: int, indent: str) -> Iterator[str]:
        try:
            entries = self._workspace.listing(folder)
        except WorkspaceProblem:  # gone meanwhile, or not ours to read
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            yield indent + _entry(entry)
            if entry.kind == "folder" and depth > 1 and entry.name not in SKIPPED:
                yield from self._branches(f"{folder}/{entry.name}", depth - 1, indent + "  ")

    async def outline(self, path: str) -> str:
        """What a file defines, with line numbers."""
        data = await to_thread(self._workspace.read_bytes, path)
        if self._outline is not None:
            return _bounded(await self._outline(self._workspace.relative(path), data))
        language = language_of(path)
        if language is None:
            raise BadSearch(f"There is no outline of files like {shown(path)}. Read the file instead.")
        return self._matching(path, data, any_definition(language), f"{shown(path)} defines nothing that was recognised.")

    def imports(self, path: str) -> str:
        """What a file imports: `line:text`."""
        language = language_of(path)
        if language is None:
            raise BadSearch(f"It isn't known how files like {shown(path)} import others. Read the file instead.")
        return self._matching(path, self._workspace.read_bytes(path), language.imports, f"{shown(path)} imports nothing.")

    def _matching(self, path: str, data: bytes, pattern: str, nothing: str) -> str:
        text = decode(data)
        if text is None:
            raise Binary(f"{shown(path)} is a binary file of {len(data):,} bytes.")
        lines = [cut(line, MOST_COLUMNS) for line in lines_of(text.readable)]
        found = [f"{number}:{line}" for number, line in enumerate(lines, 1) if re.search(pattern, line)]
        return _bounded("\n".join(found)) or nothing

    def _told(self, found: Found, nothing: str) -> str:
        lines = [f"{shown(hit.path)}:{hit.line}:{cut(hit.text, MOST_COLUMNS)}" for hit in found.hits]
        return self._ended(lines or [nothing], found)

    def _ended(self, lines: list[str], found: Found | Names) -> str:
        notes = list[str]()
        if found.more:
            notes.append("[There are more; narrow the search.]")
        if found.late:
            notes.append("[The time was up before all was searched; narrow the search.]")
        if self._search.is_slow:
            notes.append("[ripgrep is not installed: searching is slower, and doesn't know what git ignores.]")
        return "\n".join([_bounded("\n".join(lines)), *notes])


def _most(wanted: int) -> int:
    return max(1, min(wanted, MOST_HITS))


def _entry(entry: Entry) -> str:
    match entry.kind:
        case "folder":
            return f"{shown(entry.name)}/"
        case "file":
            return f"{shown(entry.name)} ({entry.size:,} bytes)"
        case "link":
            return f"{shown(entry.name)} (symbolic link)"
        case "other":
            return f"{shown(entry.name)} (pipe, socket or device)"
        case _:
            assert_never(entry.kind)


def _bounded(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n[{len(text) - MOST_SHOWN:,} more characters]"
