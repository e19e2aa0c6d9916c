"""Read source files from disk, with errors worded for users. A file is read once, so that it can't change in between."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from treadle import TreadleError
from treadle.assistants.reading.outline.languages import canonical_language, detect_language, language_names
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source, is_minified
from treadle.assistants.reading.source import OutlinedSource, build_source
from treadle.files import MissingPath, NotOpened, Workspace, WorkspaceProblem, printable_name, read_named

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
