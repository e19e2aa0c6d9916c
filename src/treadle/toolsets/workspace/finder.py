"""Searching and listing in a workspace, with text results for a model. `tools` offers this.

Definitions and imports are found by patterns of lines, per language, for both ripgrep and Python; there is no grammar. A definition
in a comment is found, one spread over lines may not be.
"""

import re
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterator
from typing import Literal, Protocol, assert_never

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.tool import ToolResult
from treadle.files.problems import BadSearch, BinaryFile, WorkspaceProblem, printable_name
from treadle.files.workspace import FolderEntry, Workspace
from treadle.toolsets.workspace.edits import split_keeping_ends
from treadle.toolsets.workspace.file_contents import decode_file_text
from treadle.toolsets.workspace.files import MAX_SHOWN, cut_line
from treadle.toolsets.workspace.search import MAX_HITS, FileNames, GrepResult, Search

NAME = r"[\w$]+[!?=]?"
_C_TYPE = r"^\s*(?:[\w:<>,*&\[\]]+\s+)+[*&]*"
MAX_ENTRIES = 500
MAX_COLUMNS = 300
SKIPPED = frozenset({"node_modules", "vendor", "__pycache__"})

Outline = Callable[[str, bytes], Awaitable[str]]


class LanguagePatterns(Struct, frozen=True):
    """The patterns of one language. `{name}` in a definition is the name."""

    files: tuple[str, ...]
    definitions: tuple[str, ...]
    imports: str


LANGUAGES: dict[str, LanguagePatterns] = {
    "python": LanguagePatterns(
        ("*.py", "*.pyi"),
        (r"^\s*(?:async\s+)?def\s+{name}\b", r"^\s*class\s+{name}\b", r"^{name}\s*(?::[^=]+)?=[^=]", r"^type\s+{name}\b"),
        r"^\s*(?:import|from)\s+\S",
    ),
    "javascript": LanguagePatterns(
        ("*.js", "*.jsx", "*.mjs", "*.cjs"),
        (
            r"\bfunction\s*\*?\s*{name}\b",
            r"\bclass\s+{name}\b",
            r"^\s*(?:export\s+)?(?:const|let|var)\s+{name}\b",
            r"^\s*(?:(?:static|async|get|set)\s+|\*)*{name}\s*\([^()]*\)\s*\{{",
        ),
        r"^\s*(?:import\b|export\s.*\bfrom\b)|\brequire\s*\(",
    ),
    "go": LanguagePatterns(
        ("*.go",),
        (
            r"^func\s+(?:\([^)]*\)\s*)?{name}\b",
            r"^\s*type\s+{name}\b",
            r"^\s*(?:var|const)\s+{name}\b",
            r"^\t{name}\s+(?:struct|interface)\b",
        ),
        r'^\s*import\b|^\s+(?:[\w.]+\s+)?"[^"]+"\s*$',
    ),
    "rust": LanguagePatterns(
        ("*.rs",),
        (r"\bfn\s+{name}\b", r"\b(?:struct|enum|trait|union|type|mod|const|static)\s+{name}\b", r"\bmacro_rules!\s+{name}\b"),
        r"^\s*(?:pub\s+)?(?:use|extern\s+crate|mod)\s",
    ),
    "java": LanguagePatterns(
        ("*.java", "*.kt", "*.kts", "*.scala", "*.cs", "*.swift"),
        (
            r"\b(?:class|interface|enum|record|object|struct|protocol|extension|trait|typealias)\s+{name}\b",
            r"\b(?:fun|func|def)\s+(?:<[^>]*>\s*)?(?:[\w.]+\.)?{name}\b",
            r"^\s*(?:(?:public|private|protected|internal|static|final|abstract|override|async)\s+)+[\w<>,.?\[\] ]*\b{name}\s*\(",
        ),
        r"^\s*(?:import|using|package)\s",
    ),
    "c": LanguagePatterns(
        ("*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hpp", "*.hh"),
        (
            r"^\s*#\s*define\s+{name}\b",
            r"\b(?:struct|class|enum|union|namespace)\s+{name}\b[^;]*$",
            rf"{_C_TYPE}(?:\w+::)*{{name}}\s*\([^;]*$",
        ),
        r"^\s*#\s*include\b|^\s*import\s|^\s*using\s",
    ),
    "ruby": LanguagePatterns(
        ("*.rb", "*.rake"),
        (r"^\s*def\s+(?:self\.)?{name}(?:\b|\s|\(|$)", r"^\s*(?:class|module)\s+(?:\w+::)*{name}\b", r"^\s*{name}\s*=[^=]"),
        r"^\s*(?:require|require_relative|load|include|extend)\b",
    ),
    "php": LanguagePatterns(
        ("*.php",),
        (r"\bfunction\s+&?{name}\b", r"\b(?:class|interface|trait|enum)\s+{name}\b", r"\bconst\s+{name}\b"),
        r"^\s*(?:use|require|require_once|include|include_once|namespace)\b",
    ),
    "bash": LanguagePatterns(
        ("*.sh", "*.bash"),
        (r"^\s*function\s+{name}\b", r"^\s*{name}\s*\(\)"),
        r"^\s*(?:source|\.)\s+\S",
    ),
}
_JAVASCRIPT = LANGUAGES["javascript"]
LANGUAGES["typescript"] = LanguagePatterns(
    ("*.ts", "*.tsx", "*.mts", "*.cts"),
    (
        *_JAVASCRIPT.definitions,
        r"\b(?:interface|type|enum|namespace)\s+{name}\b",
        r"^\s*(?:(?:public|private|protected|readonly|static|async|abstract)\s+)+{name}\s*[(<]",
    ),
    _JAVASCRIPT.imports,
)


def find_language_patterns(path: str) -> LanguagePatterns | None:
    """Return the patterns for a file, by its name."""
    ending = "*." + path.rpartition(".")[2].casefold()
    return next((language for language in LANGUAGES.values() if ending in language.files), None)


def definition_pattern(language: LanguagePatterns, name: str) -> str:
    """Return a pattern for a line that defines exactly this name."""
    return "|".join([f"(?:{pattern.format(name=re.escape(name))})" for pattern in language.definitions])


def any_definition_pattern(language: LanguagePatterns) -> str:
    """Return a pattern for a line that defines anything."""
    return "|".join([f"(?:{pattern.format(name=NAME)})" for pattern in language.definitions])


"""Makes an outline of a file: (its name, its content) to text."""


class SymbolLookup(Protocol):
    """An index of the workspace's symbols, with text results for a model."""

    async def find(self, name: str, kind: Literal["any", "definition", "call"], directory: str) -> str:
        """Return where a name is defined, called or mentioned below a folder."""
        ...

    async def map(self, task: str, directory: str, max_tokens: int) -> str:
        """Return the most important files below a folder for a task, with what they define."""
        ...


class Finder:
    """Search and listing operations on a workspace."""

    def __init__(
        self, workspace: Workspace, search: Search, outline: Outline | None = None, symbols: SymbolLookup | None = None
    ) -> None:
        self._workspace = workspace
        self._search = search
        self._outline = outline
        self._symbols = symbols

    async def grep(self, pattern: str, directory: str, file_pattern: str, *, case_insensitive: bool, most: int) -> ToolResult:
        """Return lines of files that match a pattern: `path:line:text`."""
        globs = [file_pattern] if file_pattern else []
        found = await self._search.grep(pattern, directory, globs, ignore_case=case_insensitive, most=_clamp_count(most))
        nothing = f"No line fits {pattern!r}. Hidden files and those that git ignores are not searched."
        hits = tuple([replace(hit, text=cut_line(hit.text, MAX_COLUMNS)) for hit in found.hits])
        return ToolResult(self._format_hits(found, nothing), replace(found, hits=hits))

    async def find_in_file(self, path: str, pattern: str, *, case_insensitive: bool, most: int) -> str:
        """Return lines of one file that match a pattern: `line:text`."""
        found = await self._search.find_in_file(pattern, path, ignore_case=case_insensitive, most=_clamp_count(most))
        lines = [f"{hit.line}:{cut_line(hit.text, MAX_COLUMNS)}" for hit in found.hits]
        return (
            self._add_notes(lines, found)
            if lines
            else self._add_notes([f"No line of {printable_name(path)} fits {pattern!r}."], found)
        )

    async def find_files(self, pattern: str, directory: str, most: int) -> ToolResult:
        """Return paths of files whose names match a glob."""
        found = await self._search.find_files(pattern, directory, most=_clamp_count(most))
        lines = [printable_name(path) for path in found.paths]
        nothing = f"No file fits {pattern!r}. Hidden files and those that git ignores are not searched."
        return ToolResult(self._add_notes(lines or [nothing], found), found)

    async def find_definition(self, name: str, directory: str, language: str) -> str:
        """Return where a name is defined: `path:line:text`."""
        word = _require_name(name)
        if language and language not in LANGUAGES:
            raise BadSearch(f"{language!r} is no language that is known here. Use one of {', '.join(LANGUAGES)}, or leave it out.")
        if self._symbols is not None and not language:
            return await self._symbols.find(name, "definition", directory)
        hits, more, late = list[str](), False, False
        for each in [language] if language else LANGUAGES:
            spoken = LANGUAGES[each]
            found = await self._search.grep(definition_pattern(spoken, word), directory, spoken.files)
            hits += [f"{printable_name(hit.path)}:{hit.line}:{cut_line(hit.text, MAX_COLUMNS)}" for hit in found.hits]
            more, late = more or found.more, late or found.late
        nothing = f"No definition of {word} was found. It may be defined in another way: use grep for it."
        return self._add_notes(hits or [nothing], GrepResult((), more, late))

    async def find_references(self, name: str, directory: str, *, calls_only: bool) -> str:
        """Return where a name is used; without an index of symbols, the lines that contain it as a word."""
        word = _require_name(name)
        if self._symbols is not None:
            return await self._symbols.find(name, "call" if calls_only else "any", directory)
        after = r"\s*\(" if calls_only else r"(?:$|[^\w$])"
        found = await self._search.grep(rf"(?:^|[^\w$]){re.escape(word)}{after}", directory)
        return self._format_hits(found, f"{word} isn't used in any file here.")

    async def map(self, task: str, directory: str, max_tokens: int) -> str:
        """Return the most important files for a task with what they define; without an index of symbols, nested folders."""
        if self._symbols is not None:
            return await self._symbols.map(task, directory, max_tokens)
        return await to_thread(self.tree, directory, 3)

    def list_folder(self, directory: str, *, show_hidden: bool, extension: str) -> str:
        """Return the names in a folder; folders end in `/`."""
        ending = f".{extension.removeprefix('.')}" if extension else ""
        entries = [
            entry
            for entry in self._workspace.listing(directory)
            if (show_hidden or not entry.name.startswith(".")) and (entry.name.endswith(ending) or entry.kind == "folder")
        ]
        lines = [_format_entry(entry) for entry in entries[:MAX_ENTRIES]]
        if len(entries) > MAX_ENTRIES:
            lines.append(f"[{len(entries) - MAX_ENTRIES} more; use find_files to find one of them]")
        return "\n".join(lines) or f"There is nothing to list in {printable_name(directory)}."

    def tree(self, directory: str, depth: int) -> str:
        """Return nested folders as an indented list."""
        self._workspace.listing(directory, most=1)  # a problem with the folder itself is said, not skipped
        lines = list[str]()
        for line in self._walk_tree(directory, max(1, min(depth, 10)), ""):
            if len(lines) == MAX_ENTRIES:
                lines.append("[there is more; ask for a folder below, or for less depth]")
                break
            lines.append(line)
        return "\n".join(lines) or f"There is nothing to list in {printable_name(directory)}."

    def _walk_tree(self, folder: str, depth: int, indent: str) -> Iterator[str]:
        try:
            entries = self._workspace.listing(folder)
        except WorkspaceProblem:  # gone meanwhile, or not ours to read
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            yield indent + _format_entry(entry)
            if entry.kind == "folder" and depth > 1 and entry.name not in SKIPPED:
                yield from self._walk_tree(f"{folder}/{entry.name}", depth - 1, indent + "  ")

    async def outline(self, path: str) -> str:
        """Return what a file defines, with line numbers."""
        data = await to_thread(self._workspace.read_bytes, path)
        if self._outline is not None:
            return _truncate(await self._outline(self._workspace.relative(path), data))
        language = find_language_patterns(path)
        if language is None:
            raise BadSearch(f"There is no outline of files like {printable_name(path)}. Read the file instead.")
        return self._list_matching(
            path, data, any_definition_pattern(language), f"{printable_name(path)} defines nothing that was recognised."
        )

    def imports(self, path: str) -> str:
        """Return what a file imports: `line:text`."""
        language = find_language_patterns(path)
        if language is None:
            raise BadSearch(f"It isn't known how files like {printable_name(path)} import others. Read the file instead.")
        return self._list_matching(
            path, self._workspace.read_bytes(path), language.imports, f"{printable_name(path)} imports nothing."
        )

    def _list_matching(self, path: str, data: bytes, pattern: str, nothing: str) -> str:
        text = decode_file_text(data)
        if text is None:
            raise BinaryFile(f"{printable_name(path)} is a binary file of {len(data):,} bytes.")
        lines = [cut_line(line, MAX_COLUMNS) for line in split_keeping_ends(text.readable)]
        found = [f"{number}:{line}" for number, line in enumerate(lines, 1) if re.search(pattern, line)]
        return _truncate("\n".join(found)) or nothing

    def _format_hits(self, found: GrepResult, nothing: str) -> str:
        lines = [f"{printable_name(hit.path)}:{hit.line}:{cut_line(hit.text, MAX_COLUMNS)}" for hit in found.hits]
        return self._add_notes(lines or [nothing], found)

    def _add_notes(self, lines: list[str], found: GrepResult | FileNames) -> str:
        notes = list[str]()
        if found.more:
            notes.append("[There are more; narrow the search.]")
        if found.late:
            notes.append("[The time was up before all was searched; narrow the search.]")
        if self._search.is_slow:
            notes.append("[ripgrep is not installed: searching is slower, and doesn't know what git ignores.]")
        return "\n".join([_truncate("\n".join(lines)), *notes])


def _require_name(name: str) -> str:
    """Return a name without its class."""
    word = name.rpartition(".")[2]
    if re.fullmatch(NAME, word) is None:
        raise BadSearch(f"{name!r} is no name of a function, class or type. Give the bare name, or use grep.")
    return word


def _clamp_count(wanted: int) -> int:
    return max(1, min(wanted, MAX_HITS))


def _format_entry(entry: FolderEntry) -> str:
    match entry.kind:
        case "folder":
            return f"{printable_name(entry.name)}/"
        case "file":
            return f"{printable_name(entry.name)} ({entry.size:,} bytes)"
        case "link":
            return f"{printable_name(entry.name)} (symbolic link)"
        case "other":
            return f"{printable_name(entry.name)} (pipe, socket or device)"
        case _:
            assert_never(entry.kind)


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}\n[{len(text) - MAX_SHOWN:,} more characters]"
