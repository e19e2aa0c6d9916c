"""Source files to analyse: read from disk, outlined, and the one tool that reads their lines. Errors are worded for users.

A file is read once, so that it can't change in between.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from treadle import ToolProblem, TreadleError
from treadle.assistants.reading.file_parts import FilePart, split_parts
from treadle.assistants.reading.outline.languages import canonical_language, detect_language, language_names
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source, is_minified, split_source_lines
from treadle.assistants.reading.reading_types import ToolRead
from treadle.assistants.reading.settings import MAX_LINES
from treadle.files import MissingPath, NotOpened, Workspace, WorkspaceProblem, printable_name, read_named

FAST_LINES, FAST_TOKENS, CHARS_A_TOKEN = 200, 2000, 4
MAX_SOURCE_BYTES = 10_000_000  # bytes
MINIFIED = "It looks minified: its lines are too long to tell parts apart."
_SKIPPED = frozenset(
    (
        "node_modules",
        "vendor",
        "venv",
        "env",
        "__pycache__",
        "site-packages",
        "dist",
        "build",
        "target",
        "third_party",
        "bower_components",
    )
)


class OutlinedSource(Struct, frozen=True):
    """A file, read and outlined. `notes` is what a reader of the answer should know."""

    filename: str
    language: str
    text: str
    lines: tuple[str, ...]
    outline: Outline
    parts: tuple[FilePart, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether sending the whole file is the cheapest way."""
        return len(self.lines) <= FAST_LINES and len(self.text) // CHARS_A_TOKEN <= FAST_TOKENS


def build_source(filename: str, text: str, outline: Outline, notes: Sequence[str] = ()) -> OutlinedSource:
    """Build a source from a text and its outline."""
    broken = ("Parts of it couldn't be parsed, so its outline may miss something.",) if outline.broken else ()
    return OutlinedSource(
        filename, outline.language, text, split_source_lines(text), outline, tuple(split_parts(outline)), (*notes, *broken)
    )


def hash_text(text: str) -> str:
    """Return the hash that identifies a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class SourceReader:
    """The tool `refer_to_source_code`, bound to one file, with a record of its calls in order.

    It is asynchronous although it waits for nothing: threads would finish in any order. One call reads `most` lines: a
    small model asks for the whole file, which is what the outline is there to save.
    """

    def __init__(self, source: OutlinedSource, most: int = MAX_LINES) -> None:
        self._lines = source.lines
        self._most = most
        self.log: list[ToolRead] = []

    async def refer_to_source_code(self, start_line: int, end_line: int) -> str:
        """Read lines of the file.

        :param start_line: the first line, from 1
        :param end_line: the last line
        """
        lines = min(end_line, len(self._lines)) - start_line + 1
        if lines > self._most:
            raise ToolProblem(
                f"That is {lines} lines; at most {self._most} are read at once. The outline tells what is in the file:"
                " read only what it leaves open, or answer."
            )
        return self.read(start_line, end_line, "the model asked")

    def read(self, start: int, end: int, reason: str) -> str:
        """Return the lines, and add an entry to the record."""
        last = len(self._lines)
        if start < 1 or end < start or start > last:
            raise ToolProblem(f"Invalid line range: {start} to {end}. The file has lines 1 to {last}.")
        end = min(end, last)
        self.log.append(ToolRead(start, end, reason))
        return "\n".join(self._lines[start - 1 : end])


class NotReadable(TreadleError):
    """A source that can't be read; the message says why."""


class SourceFileGone(NotReadable):
    """The file doesn't exist, or no longer."""


def load_source_file(path: Path) -> bytes:
    """Return the bytes of a file named by the user, which may be a pipe of a shell."""
    try:
        return read_named(path, MAX_SOURCE_BYTES, pipes=True)
    except NotOpened as error:
        raise NotReadable(str(error)) from error


def load_workspace_file(workspace: Workspace, path: str) -> bytes:
    """Return the bytes of a file in a workspace."""
    try:
        return workspace.read_bytes(path, MAX_SOURCE_BYTES)
    except MissingPath as error:
        raise SourceFileGone(f"There is no file {printable_name(path)}.") from error
    except WorkspaceProblem as error:
        raise NotReadable(str(error)) from error


async def open_source(path: Path, outliner: Outliner, language: str = "") -> OutlinedSource:
    """Read and outline a file named by the user; `-` is standard input."""
    if str(path) == "-":
        return await outline_source(await asyncio.to_thread(sys.stdin.buffer.read, MAX_SOURCE_BYTES), "stdin", language, outliner)
    return await outline_source(await asyncio.to_thread(load_source_file, path), path.name, language, outliner)


async def open_workspace_source(workspace: Workspace, path: str, outliner: Outliner) -> OutlinedSource:
    """Read and outline a file in a workspace."""
    return await outline_source(await asyncio.to_thread(load_workspace_file, workspace, path), path, "", outliner)


async def outline_source(data: bytes | str, name: str, language: str, outliner: Outliner) -> OutlinedSource:
    """Outline a file's content. An empty `language` means that it is detected from the name."""
    try:
        found = decode_source(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    except TreadleError as error:
        raise NotReadable(f"{name} can't be read: {error}") from error
    known = canonical_language(language) if language else detect_language(name, found.text)
    if known is None:
        said = f"The language {language!r} isn't known" if language else f"What {name} is written in can't be told from its name"
        raise NotReadable(f"{said}. Known are: {', '.join(language_names())}. Name it: `--language NAME`, `language` over HTTP.")
    notes = tuple(filter(None, (found.note, MINIFIED if is_minified(found.text) else "")))
    outline = await outliner.outline(found.text, known)
    return build_source(name, found.text, outline, notes)


def iter_source_files(workspace: Workspace, under: str = ".") -> Iterator[str]:
    """Yield the paths of a folder's source files in order, without hidden, installed and generated ones."""
    try:
        yield from (path for path in workspace.files(under, passed=_is_skipped) if detect_language(path.rpartition("/")[2]))
    except WorkspaceProblem as error:
        raise NotReadable(str(error)) from error


def is_skipped_path(path: str) -> bool:
    """Return whether a path is hidden, or of an installed or generated file."""
    return any(_is_skipped(name) for name in path.split("/"))


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED or name.endswith((".min.js", ".min.css"))
